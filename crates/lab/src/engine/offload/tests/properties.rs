//! What holds for all frames.

use proptest::prelude::*;

use super::made::{Made, Recipe, cut, recipes, sealed, without_id};
use crate::engine::offload::{
    ETHERNET,
    cut::Cutter,
    ipv4,
    join::Joiner,
    long, sums, tcp,
    virtio::{LENGTH, Meta, Protocol},
    word,
};

/// Everything joined, and which packets each piece is made of.
fn join(packets: &[Made]) -> Vec<(Made, Vec<usize>)> {
    let mut joiner = Joiner::default();
    // Its memory was used before.
    joiner.add(0, &packets[0].bytes, packets[0].meta.checksum);
    joiner.clear();
    for (number, packet) in packets.iter().enumerate() {
        joiner.add(number, &packet.bytes, packet.meta.checksum);
    }
    let piece = |run: &mut crate::engine::offload::join::Run| {
        let members = run.members().to_vec();
        let (meta, headers, from) = run.finish();
        let mut bytes = headers.to_vec();
        members.iter().for_each(|&member| bytes.extend(&packets[member].bytes[from..]));
        (Made { meta, bytes }, members)
    };
    joiner.runs().iter_mut().map(piece).collect()
}

/// Several frames at once, on one of two flows each, their packets dealt like cards, some lost and some
/// marked.
fn traffic() -> impl Strategy<Value = Vec<Made>> {
    let frames = prop::collection::vec((recipes(), any::<bool>()), 1..5);
    let fates = prop::collection::vec((any::<prop::sample::Index>(), 0..30u8), 1..200);
    (frames, fates).prop_map(|(frames, fates)| {
        let mut decks: Vec<_> = frames
            .iter()
            .map(|(recipe, port)| {
                let recipe = Recipe { port: u8::from(*port), v6: false, tos: 2, ..recipe.clone() };
                let v4 =
                    if recipe.protocol == Protocol::Udp { Protocol::Udp } else { Protocol::Tcp4 };
                let mut packets = cut(&Recipe { protocol: v4, ..recipe }.make());
                packets.reverse();
                packets
            })
            .collect();
        let mut all = Vec::new();
        for (which, fate) in fates.iter().cycle() {
            decks.retain(|deck| !deck.is_empty());
            if decks.is_empty() {
                break;
            }
            let deck = which.index(decks.len());
            let mut packet = decks[deck].pop().expect("not empty");
            if *fate == 1 {
                packet.bytes[ETHERNET + 1] |= 1;
                sums::seal_ipv4(&mut packet.bytes[ETHERNET..ETHERNET + ipv4::HEADER]);
            }
            if *fate != 0 || (all.is_empty() && decks.iter().all(Vec::is_empty)) {
                all.push(packet);
            }
        }
        all
    })
}

proptest! {
    #[test]
    fn packets_are_what_a_wire_carries(recipe in recipes()) {
        let made = recipe.make();
        let packets = cut(&made);
        prop_assert_eq!(packets.len(), recipe.payload.len().div_ceil(recipe.size.into()));
        let start = usize::from(made.meta.headers) - if recipe.protocol == Protocol::Udp {
            8
        } else {
            20 + recipe.options.len() * 4
        };
        let mut payload: Vec<u8> = Vec::new();
        for (number, packet) in packets.iter().enumerate() {
            let bytes = sealed(packet);
            prop_assert!(bytes.len() <= 1514);
            payload.extend(&bytes[made.meta.headers.into()..]);
            if !recipe.v6 {
                let ip = &bytes[ETHERNET..ETHERNET + ipv4::HEADER];
                prop_assert_eq!(sums::sum(ip), 0xffff, "the header's own checksum");
                prop_assert_eq!(usize::from(word(ip, ipv4::LENGTH)), bytes.len() - ETHERNET);
                let whole = sums::pseudo_ipv4(ip, (bytes.len() - start) as u16);
                prop_assert_eq!(sums::add(whole, sums::sum(&bytes[start..])), 0xffff);
            }
            if recipe.protocol != Protocol::Udp {
                let before = number as u32 * u32::from(recipe.size);
                let sequence = long(&bytes, start + tcp::SEQUENCE);
                prop_assert_eq!(sequence, recipe.sequence.wrapping_add(before));
                let (first, last) = (number == 0, number + 1 == packets.len());
                let mut flags = recipe.flags;
                flags &= if last { 0xff } else { !(tcp::FIN | tcp::PSH) };
                flags &= if first { 0xff } else { !tcp::CWR };
                prop_assert_eq!(bytes[start + tcp::FLAGS], flags);
            }
        }
        prop_assert_eq!(payload, recipe.payload);
    }

    #[test]
    fn joining_undoes_cutting(recipe in recipes()) {
        let made = recipe.make();
        let packets = cut(&made);
        let pieces = join(&packets);
        if recipe.v6 {
            prop_assert_eq!(pieces.len(), packets.len(), "left as they are");
        } else {
            prop_assert_eq!(pieces.len(), 1);
            prop_assert_eq!(&pieces[0].0, &made);
        }
    }

    #[test]
    fn cutting_undoes_joining(packets in traffic()) {
        let mut numbers = Vec::new();
        let mut flows = vec![Vec::new(); 4];
        for (piece, members) in join(&packets) {
            let again = if members.len() > 1 { cut(&piece) } else { vec![piece] };
            prop_assert_eq!(again.len(), members.len());
            for (packet, number) in again.iter().zip(&members) {
                let (is, was) = (without_id(sealed(packet)), without_id(sealed(&packets[*number])));
                prop_assert_eq!(&is, &was);
                let port = usize::from(was[ETHERNET + ipv4::HEADER + 1]);
                let tcp = usize::from(was[ETHERNET + ipv4::PROTOCOL] == 6);
                flows[tcp * 2 + port].push(*number);
            }
            numbers.extend(members);
        }
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..packets.len()).collect::<Vec<_>>(), "each once");
        for flow in flows {
            prop_assert!(flow.is_sorted(), "overtaken within a flow: {:?}", flow);
        }
    }

    #[test]
    fn no_damage_makes_it_panic(
        recipe in recipes(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        length in any::<prop::sample::Index>(),
        header in any::<[u8; LENGTH]>(),
        which in 0..3u8,
    ) {
        let mut made = recipe.make();
        for (at, byte) in &damage {
            // Mostly in the headers.
            let end = made.bytes.len().min(80);
            made.bytes[at.index(end)] = *byte;
        }
        if which > 0 {
            made.bytes.truncate(length.index(made.bytes.len() + 1));
        }
        let meta = if which < 2 { made.meta } else { Meta::decode(header).unwrap_or_default() };
        if let Some(several) = meta.several
            && let Ok(mut cutter) = Cutter::new(meta, several, &made.bytes)
        {
            let (mut packets, mut buffer) = (Vec::new(), Vec::new());
            while cutter.write_next(&mut buffer) {
                packets.push(Made { meta: Meta::single(meta.checksum), bytes: buffer.clone() });
                buffer.clear();
            }
            join(&packets);
        }
        join(&[Made { meta, ..made.clone() }, Made { meta, ..made }]);
    }
}
