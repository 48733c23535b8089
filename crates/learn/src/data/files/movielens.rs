//! MovieLens 100K.

use std::path::Path;

use laxity_link::{stream, uniform};

use super::{LoadError, open::Content};
use crate::data::{Rating, Ratings, Split, tenth_for_testing};

/// Users and items beyond this are not believed.
const LARGEST: u32 = 1 << 20;

/// `u.data`: lines of user, item, rating and time. A tenth, chosen by lot, is for testing.
pub fn movielens(folder: &Path) -> Result<Split<Ratings>, LoadError> {
    let content = Content::read(folder.join("u.data"))?;
    let mut known = Vec::new();
    for line in content.lines() {
        let [user, item, value, _time] = content.numbers(line)?;
        let fine = (1..=LARGEST).contains(&user)
            && (1..=LARGEST).contains(&item)
            && (1..=5).contains(&value);
        if !fine {
            let what = format!(
                "user {user}, item {item}, rating {value}: they start at 1, ratings end at 5"
            );
            return Err(content.damaged(line.0, what));
        }
        known.push(Rating { user: user - 1, item: item - 1, value: value as f32 });
    }
    if known.len() < 10 {
        let what = format!("{} ratings are too few to learn from", known.len());
        return Err(content.damaged(content.bytes.len(), what));
    }
    // The file is in no order that means anything, but a lot is safe whatever it is.
    let mut rng = stream(0, "movielens-split", 0);
    for at in (1..known.len()).rev() {
        known.swap(at, (uniform(&mut rng) * (at + 1) as f64) as usize);
    }
    let most = |of: fn(&Rating) -> u32| 1 + known.iter().map(of).max().unwrap_or(0) as usize;
    let (users, items) = (most(|rating| rating.user), most(|rating| rating.item));
    let (train, test) = tenth_for_testing(known);
    let part = |known| Ratings { users, items, known };
    Ok(Split { train: part(train), test: part(test) })
}
