//! Wrong keys, wrong certificates, other hosts' names.

use std::{io::Read, net::TcpStream};

use laxity_controller::{Agent, Link, TlsIdentity, ask_overview};
use laxity_fabric::rendezvous::Secret;
use laxity_protocol::Key;

use super::child::{PATIENCE, Place, host, is_attached};

fn refusal(agent: &Agent) -> String {
    let mut said = String::new();
    assert!(agent.wait_link(PATIENCE, |link| match link {
        Link::Refused { why } => {
            said.clone_from(why);
            true
        }
        _ => false,
    }));
    said
}

#[test]
fn a_wrong_key_and_a_stolen_name_are_refused_by_name() {
    let place = Place::new();
    let _controller = place.start();
    let holder = Agent::start(host(place.access(), "a", 1)).unwrap();
    assert!(holder.wait_link(PATIENCE, is_attached));

    let mut wrong = place.access();
    wrong.secret = Secret::Key(Key::new([8; 32]));
    let other = Agent::start(host(wrong.clone(), "b", 2)).unwrap();
    let said = refusal(&other);
    assert!(
        said.contains("host b at 127.0.0.1:") && said.contains("and controller ctl has key"),
        "{said}"
    );
    assert!(said.contains("give both the same key file"), "{said}");
    let error = ask_overview(&wrong).unwrap_err().to_string();
    assert!(error.contains("and controller ctl has key"), "{error}");

    let thief = Agent::start(host(place.access(), "a", 3)).unwrap();
    let said = refusal(&thief);
    assert!(
        said.contains("presented another token than host a, which registered from 127.0.0.1:")
            && said.contains("is attached"),
        "{said}"
    );
    assert!(is_attached(&holder.link()), "its holder stays");
    let hosts = ask_overview(&place.access()).unwrap().hosts;
    assert_eq!(hosts.len(), 1);
}

#[test]
fn a_controller_with_another_certificate_is_not_talked_to() {
    let place = Place::new();
    let _controller = place.start();
    let mut access = place.access();
    access.certificate = Some(TlsIdentity::new().unwrap().certificate);
    let agent = Agent::start(host(access, "a", 1)).unwrap();
    let mut said = String::new();
    assert!(agent.wait_link(PATIENCE, |link| match link {
        Link::Away { why } => {
            said.clone_from(why);
            true
        }
        _ => false,
    }));
    assert!(said.contains("certificate"), "{said}");
    // Nor one that expects none.
    let mut plain = place.access();
    plain.certificate = None;
    assert!(ask_overview(&plain).is_err());
}

#[test]
fn who_connects_and_says_nothing_is_turned_out() {
    let place = Place::new();
    let _controller = place.start();
    assert!(ask_overview(&place.access()).is_ok(), "it listens");
    let mut silent = TcpStream::connect(&place.listen).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = silent.read(&mut [0; 64]);
    assert!(matches!(heard, Ok(0)), "{heard:?}");
}
