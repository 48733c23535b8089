//! The layout for NVIDIA Cumulus Linux 5: its two files of QoS settings.

use std::fmt::Write;

use super::plan::{Plan, hardware_queue};

/// Both files, one after the other, each behind a comment with its path.
pub(super) fn files(plan: &Plan) -> String {
    let mut text = String::new();
    write_features(&mut text, plan)
        .and_then(|()| write_infra(&mut text, plan))
        .expect("strings take everything");
    text
}

/// Classification, scheduling and marks, for a group of ports.
fn write_features(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let ports = plan.ports.join(",");
    let first = hardware_queue(0);
    let title = plan.title();
    let points: Vec<_> = Plan::first_points().map(|point| point.to_string()).collect();
    writeln!(
        text,
        "# {title}\n\
         # Merge into /etc/cumulus/datapath/qos/qos_features.conf, then: \
         systemctl reload switchd.service\n\
         source.port_group_list = [laxity]\n\
         source.laxity.packet_priority_source_set = [dscp]\n\
         source.laxity.port_set = {ports}\n\
         source.laxity.port_default_priority = {first}\n\
         source.laxity.cos_{first}.priority_source.dscp = [{}]",
        points.join(",")
    )?;
    for (class, point) in Plan::classes() {
        let queue = hardware_queue(class);
        writeln!(text, "source.laxity.cos_{queue}.priority_source.dscp = [{point}]")?;
    }
    writeln!(
        text,
        "\n# 0 is strict priority; the queue with the highest number goes first.\n\
         egress_sched.port_group_list = [laxity]\n\
         egress_sched.laxity.port_set = {ports}"
    )?;
    for queue in 0..plan.queues.len() {
        writeln!(text, "egress_sched.laxity.egr_queue_{queue}.bw_percent = 0")?;
    }
    let marking = plan.queues.iter().enumerate().filter(|(_, queue)| queue.marks);
    let marking: Vec<_> = marking.map(|(class, _)| hardware_queue(class).to_string()).collect();
    let marking = marking.join(",");
    let (mark, above) = (plan.mark.get(), (plan.mark + plan.packet()).get());
    writeln!(
        text,
        "\n# Marks, no early drops.\n\
         ecn_red.port_group_list = [laxity]\n\
         ecn_red.laxity.port_set = {ports}\n\
         ecn_red.laxity.egress_queue_list = [{marking}]\n\
         ecn_red.laxity.ecn_enable = true\n\
         ecn_red.laxity.red_enable = false\n\
         ecn_red.laxity.min_threshold_bytes = {mark}\n\
         ecn_red.laxity.max_threshold_bytes = {above}\n\
         ecn_red.laxity.probability = 100"
    )
}

/// Queues and buffers, which the switch has for all ports together.
fn write_infra(text: &mut String, plan: &Plan) -> std::fmt::Result {
    let (mode, about) = if plan.queues.iter().all(|queue| queue.limit.is_some()) {
        (0, "A static pool: the limits below are bytes, not parts of what is free.")
    } else {
        (1, "A dynamic pool: a queue may hold eight times what is free of it.")
    };
    writeln!(
        text,
        "\n# Merge into /etc/mlx/datapath/qos/qos_infra.conf. This concerns all ports, and a reload \
         may lose packets.\n\
         # {about}\n\
         egress_service_pool.0.mode = {mode}"
    )?;
    for queue in 0..plan.queues.len() {
        writeln!(text, "cos_egr_queue.cos_{queue}.uc = {queue}")?;
    }
    for (class, own) in plan.queues.iter().enumerate() {
        let queue = hardware_queue(class);
        let size = own.limit.map_or_else(|| "ALPHA_8".to_owned(), |limit| limit.get().to_string());
        writeln!(text, "egress_buffer.egr_queue_{queue}.uc.service_pool = 0")?;
        writeln!(text, "egress_buffer.egr_queue_{queue}.uc.reserved = 0")?;
        writeln!(text, "egress_buffer.egr_queue_{queue}.uc.shared_size = {size}")?;
    }
    Ok(())
}
