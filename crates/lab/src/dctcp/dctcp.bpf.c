// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Data Center TCP (RFC 8257) as a congestion control for the Linux kernel's struct_ops.
 *
 * Written from the RFC. Section numbers below are the RFC's. Only what this program reads or writes of the
 * kernel's structures is declared; the loader finds the real places by name (CO-RE), so that no kernel
 * headers are needed and one object fits many kernels.
 */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define BY_NAME __attribute__((preserve_access_index))

struct sock {
} BY_NAME;

struct inet_connection_sock {
	u64 icsk_ca_priv[104 / sizeof(u64)];
	struct {
		u8 pending;
	} BY_NAME icsk_ack;
} BY_NAME;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u8 ecn_flags;
} BY_NAME;

struct rate_sample;

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	u32 flags;
};

/* Values of the kernel's interface that have no type to take them from. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define CA_STATE_RECOVERY 3
#define ACK_FLAG_ECE 4
#define ACK_PENDING_TIMER 2
#define ACK_PENDING_NOW 16

static long (*const send_ack)(void *tp, u32 up_to) = (void *)116;
/* Reno's growth: DCTCP changes how a sender shrinks, not how it grows (section 3.3). */
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __attribute__((section(".ksyms")));

/* Fractions are fixed-point numbers with this many bits behind the point. */
#define BITS 10
#define ONE (1u << BITS)
/* g = 1/16, as section 4.2 recommends. */
#define GAIN_SHIFT 4
#define SMALLEST_WINDOW 2

/* What section 3 calls DCTCP.Alpha, .BytesAcked, .BytesMarked, .WindowEnd and .CE, and a little more. */
struct dctcp {
	u32 alpha;
	u32 bytes_acked;
	u32 bytes_marked;
	u32 window_end;
	u32 last_una;
	u32 ce;
	u32 seen_rcv_nxt;
	u32 window_at_loss;
};

static inline struct dctcp *own(void *sk)
{
	return (struct dctcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline u32 at_least(u32 value, u32 floor)
{
	return value > floor ? value : floor;
}

static inline void begin_window(struct tcp_sock *tp, struct dctcp *d)
{
	d->bytes_acked = 0;
	d->bytes_marked = 0;
	d->window_end = tp->snd_nxt;
}

SEC("struct_ops/start")
void start(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct dctcp *d = own(tp);

	/* Section 3.3: begin with 1, so that the first mark halves the window like any other TCP. */
	d->alpha = ONE;
	d->last_una = tp->snd_una;
	d->seen_rcv_nxt = tp->rcv_nxt;
	d->ce = 0;
	d->window_at_loss = 0;
	begin_window(tp, d);
}

/* Section 3.3: what part of the last window's bytes was marked, as a moving average. */
SEC("struct_ops/on_ack")
void on_ack(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	u32 flags = (u32)ctx[1];
	struct dctcp *d = own(tp);
	u32 una = tp->snd_una;
	u32 newly = una - d->last_una;
	u32 alpha = d->alpha;

	d->last_una = una;
	d->bytes_acked += newly;
	if (flags & ACK_FLAG_ECE)
		d->bytes_marked += newly;
	/* The window is over when its end has been acknowledged; numbers wrap around. */
	if ((int)(una - d->window_end) < 0)
		return;
	if (d->bytes_acked) {
		u32 marked = (u32)(((u64)d->bytes_marked << BITS) / d->bytes_acked);
		u32 decay = alpha >> GAIN_SHIFT;

		/* Rounding must not keep a small alpha alive for ever. */
		if (!decay && alpha)
			decay = 1;
		alpha = alpha - decay + (marked >> GAIN_SHIFT);
		d->alpha = alpha > ONE ? ONE : alpha;
	}
	begin_window(tp, d);
}

SEC("struct_ops/after_marks")
u32 after_marks(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct dctcp *d = own(tp);
	u32 window = tp->snd_cwnd;

	d->window_at_loss = window;
	/* A peer without ECN gets an ordinary TCP. */
	if (!(tp->ecn_flags & TCP_ECN_OK))
		return at_least(window / 2, SMALLEST_WINDOW);
	/* cwnd = cwnd * (1 - alpha / 2), once per window: the kernel sees to the latter. */
	return at_least(window - (u32)(((u64)window * d->alpha) >> (BITS + 1)), SMALLEST_WINDOW);
}

/* Section 3.5: a lost packet is answered as by any TCP, not by alpha. */
static inline void answer_loss(struct tcp_sock *tp)
{
	struct dctcp *d = own(tp);

	d->window_at_loss = tp->snd_cwnd;
	tp->snd_ssthresh = at_least(tp->snd_cwnd / 2, SMALLEST_WINDOW);
}

SEC("struct_ops/on_state")
void on_state(u64 *ctx)
{
	if ((u8)ctx[1] == CA_STATE_RECOVERY)
		answer_loss((struct tcp_sock *)ctx[0]);
}

/*
 * Section 3.2, the receiver: every acknowledgement says whether the packets that it acknowledges were marked.
 * When that changes, what was received before is acknowledged at once with the old answer.
 */
static inline void hear_mark(struct tcp_sock *tp, u32 ce)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;
	struct dctcp *d = own(tp);

	if (d->ce != ce) {
		if (icsk->icsk_ack.pending & ACK_PENDING_TIMER) {
			if (d->ce)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			send_ack(tp, d->seen_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ACK_PENDING_NOW;
		d->ce = ce;
	}
	d->seen_rcv_nxt = tp->rcv_nxt;
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops/on_event")
void on_event(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	switch ((u32)ctx[1]) {
	case CA_EVENT_ECN_IS_CE:
		hear_mark(tp, 1);
		break;
	case CA_EVENT_ECN_NO_CE:
		hear_mark(tp, 0);
		break;
	case CA_EVENT_LOSS:
		answer_loss(tp);
		break;
	}
}

SEC("struct_ops/grow")
void grow(u64 *ctx)
{
	tcp_reno_cong_avoid((struct sock *)ctx[0], (u32)ctx[1], (u32)ctx[2]);
}

SEC("struct_ops/undo")
u32 undo(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	return at_least(tp->snd_cwnd, own(tp)->window_at_loss);
}

SEC(".struct_ops")
struct tcp_congestion_ops laxity_dctcp = {
	.init = (void *)start,
	.in_ack_event = (void *)on_ack,
	.ssthresh = (void *)after_marks,
	.set_state = (void *)on_state,
	.cwnd_event = (void *)on_event,
	.cong_avoid = (void *)grow,
	.undo_cwnd = (void *)undo,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
	.name = "laxity_dctcp",
};

char _license[] SEC("license") = "Dual MIT/GPL";
