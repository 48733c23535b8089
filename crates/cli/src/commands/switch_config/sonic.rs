//! A layout for SONiC: tables of its config_db.

use serde_json::{Map, Value, json};

use super::plan::{Plan, hardware_queue};

/// The name under which everything is entered.
const NAME: &str = "LAXITY";

/// A queue that shares the buffer may hold 2^3 times what is free of it: the most that there is, for one
/// queue that is full should take nearly all of the buffer.
const SHARE: &str = "3";

/// The tables as JSON, for `sonic-cfggen -j FILE --write-to-db` or `config load FILE`. All values
/// are strings, as config_db wants them.
pub(super) fn config(plan: &Plan) -> String {
    let mut points = Map::new();
    for point in Plan::first_points() {
        points.insert(point.to_string(), queue_text(0));
    }
    for (class, point) in Plan::classes() {
        points.insert(point.to_string(), queue_text(class));
    }
    let same: Map<_, _> = (0..8).map(|n| (n.to_string(), json!(n.to_string()))).collect();
    let mut profiles = Map::new();
    for (class, queue) in plan.queues.iter().enumerate() {
        let profile = match queue.limit {
            // A pool of static mode: a share of what is free would not be a number of packets.
            Some(limit) => json!({
                "pool": "egress_lossless_pool",
                "size": "0",
                "static_th": limit.get().to_string(),
            }),
            None => json!({
                "pool": "egress_lossy_pool",
                "size": "0",
                "dynamic_th": SHARE,
            }),
        };
        profiles.insert(profile_name(class), profile);
    }
    let (mut queues, mut buffers, mut maps) = (Map::new(), Map::new(), Map::new());
    for port in &plan.ports {
        maps.insert(port.clone(), json!({ "dscp_to_tc_map": NAME, "tc_to_queue_map": NAME }));
        for (class, own) in plan.queues.iter().enumerate() {
            let key = format!("{port}|{}", hardware_queue(class));
            let mut queue = json!({ "scheduler": NAME });
            if own.marks {
                queue["wred_profile"] = json!(NAME);
            }
            buffers.insert(key.clone(), json!({ "profile": profile_name(class) }));
            queues.insert(key, queue);
        }
    }
    let all = json!({
        "DSCP_TO_TC_MAP": { NAME: points },
        "TC_TO_QUEUE_MAP": { NAME: same },
        "PORT_QOS_MAP": maps,
        "SCHEDULER": { NAME: { "type": "STRICT" } },
        "WRED_PROFILE": { NAME: wred(plan) },
        "QUEUE": queues,
        "BUFFER_PROFILE": profiles,
        "BUFFER_QUEUE": buffers,
    });
    format!("{all:#}\n")
}

/// Marks everything above one threshold, whatever its colour.
fn wred(plan: &Plan) -> Value {
    let mark = plan.mark.get().to_string();
    let mut profile = Map::from_iter([("ecn".to_owned(), json!("ecn_all"))]);
    for color in ["green", "yellow", "red"] {
        profile.insert(format!("wred_{color}_enable"), json!("true"));
        profile.insert(format!("{color}_min_threshold"), json!(mark));
        profile.insert(format!("{color}_max_threshold"), json!(mark));
        profile.insert(format!("{color}_drop_probability"), json!("100"));
    }
    Value::Object(profile)
}

fn queue_text(class: usize) -> Value {
    json!(hardware_queue(class).to_string())
}

fn profile_name(class: usize) -> String {
    format!("laxity_class{class}_profile")
}
