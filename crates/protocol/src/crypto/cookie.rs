//! Address validation before any state is kept (the idea of DTLS and QUIC's Retry).

use std::net::SocketAddr;

use laxity_interface::{Span, Time};
use ring::hmac;
use subtle::ConstantTimeEq;

use crate::wire::COOKIE_LEN;

/// How long a cookie is good for.
const LIFETIME: Span = Span::from_secs(10);

/// Makes and checks cookies with a secret that only this endpoint knows.
#[derive(Debug)]
pub(crate) struct CookieJar {
    secret: hmac::Key,
}

impl CookieJar {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self { secret: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// A cookie for whoever can read packets at `address`.
    pub(crate) fn make(&self, now: Time, address: SocketAddr, client: u32) -> [u8; COOKIE_LEN] {
        let mut cookie = [0; COOKIE_LEN];
        cookie[..8].copy_from_slice(&now.as_ps().to_be_bytes());
        cookie[8..].copy_from_slice(&self.tag(now, address, client));
        cookie
    }

    /// Whether this endpoint made the cookie for that address, not long ago.
    pub(crate) fn check(
        &self,
        now: Time,
        address: SocketAddr,
        client: u32,
        cookie: &[u8; COOKIE_LEN],
    ) -> bool {
        let mut made = [0; 8];
        made.copy_from_slice(&cookie[..8]);
        let made = Time::from_ps(u64::from_be_bytes(made));
        // Not secret-dependent time: the attacker knows when the cookie was made.
        made <= now
            && now.since(made) <= LIFETIME
            && bool::from(self.tag(made, address, client).ct_eq(&cookie[8..]))
    }

    fn tag(&self, made: Time, address: SocketAddr, client: u32) -> [u8; 16] {
        let mut context = hmac::Context::with_key(&self.secret);
        context.update(&made.as_ps().to_be_bytes());
        match address.ip() {
            std::net::IpAddr::V4(ip) => context.update(&ip.to_ipv6_mapped().octets()),
            std::net::IpAddr::V6(ip) => context.update(&ip.octets()),
        }
        context.update(&address.port().to_be_bytes());
        context.update(&client.to_be_bytes());
        let mut tag = [0; 16];
        tag.copy_from_slice(&context.sign().as_ref()[..16]);
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_only_for_its_address_client_and_time() {
        let jar = CookieJar::new(&[3; 32]);
        let (here, there) = ("10.0.0.1:5".parse().unwrap(), "10.0.0.1:6".parse().unwrap());
        let now = Time::from_ps(1_000_000);
        let cookie = jar.make(now, here, 9);
        assert!(jar.check(now, here, 9, &cookie));
        assert!(jar.check(now + LIFETIME, here, 9, &cookie));
        assert!(!jar.check(now + LIFETIME + Span::from_ps(1), here, 9, &cookie));
        assert!(!jar.check(now, there, 9, &cookie));
        assert!(!jar.check(now, here, 8, &cookie));
        assert!(!CookieJar::new(&[4; 32]).check(now, here, 9, &cookie));
        assert!(!jar.check(Time::ZERO, here, 9, &cookie), "from the future");
    }
}
