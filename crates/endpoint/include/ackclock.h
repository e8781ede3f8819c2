/*
 * What a shared library exports so that ackclock runs it over its links: the two ends of a
 * transport connection, or a congestion controller that steers ackclock's own TCP sender.
 *
 *   cc -O2 -shared -fPIC -I include -o libmine.so mine.c
 *
 *   congestion = { kind = "endpoint", library = "libmine.so" }      # ackclock_endpoints_v1
 *   congestion = { kind = "controller", library = "libmine.so" }    # ackclock_controller_v1
 *
 * Times are nanoseconds since the run began, sizes bytes, rates bytes/s. Do not read a clock, and
 * draw random numbers from the seed given only: then the same scenario gives the same run again.
 * Calls for one connection come one after the other; several connections, and runs in several
 * threads, may be at work at a time, so keep no state outside what `connect` or `init` returns.
 */
#ifndef ACKCLOCK_H
#define ACKCLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACKCLOCK_ABI 1u
#define ACKCLOCK_NONE UINT64_MAX /* no time, no value */

/* ECN codepoints (RFC 3168, section 5) */
enum { ACKCLOCK_NOT_ECT = 0, ACKCLOCK_ECT1 = 1, ACKCLOCK_ECT0 = 2, ACKCLOCK_CE = 3 };

struct ackclock_setup {
    uint64_t seed;         /* of random numbers: one for each flow and seed of the scenario */
    uint64_t max_datagram; /* largest datagram; for a controller, the payload of a segment */
    uint32_t flow;         /* number within its class */
    uint32_t ecn;          /* 1 if the scenario asks for ECN */
    const char *options;   /* text of the scenario */
};

/* ---- a controller alone ---- */

struct ackclock_ack {
    uint64_t now;
    uint64_t acked;           /* newly delivered */
    uint64_t marked;          /* of those, marked, where the receiver tells */
    uint64_t lost;            /* newly found lost */
    uint64_t delivered;       /* so far */
    uint64_t prior_delivered; /* the same when the newest segment delivered was sent */
    uint64_t in_flight;       /* after this ACK */
    uint64_t prior_in_flight; /* before it */
    uint64_t rtt;             /* round trip sampled; 0: none */
    uint64_t min_rtt;         /* smallest so far */
    uint64_t srtt;            /* smoothed, RFC 6298 */
    double rate;              /* delivery rate sampled (draft-ietf-ccwg-bbr, section 4.1); 0: none */
    uint8_t app_limited;      /* the sample was taken while the application left the window unused */
    uint8_t cwnd_limited;     /* the window was full since that segment was sent */
    uint8_t in_recovery;      /* out of order, fast recovery, or after a mark; not after a timeout */
};

struct ackclock_controller {
    uint32_t abi;     /* ACKCLOCK_ABI */
    uint32_t size;    /* sizeof(struct ackclock_controller) */
    const char *name; /* in results and errors */
    /* The controller of a flow, or NULL with the reason in `error`. */
    void *(*init)(const struct ackclock_setup *setup, char *error, size_t error_size);
    void (*release)(void *self);
    void (*on_ack)(void *self, const struct ackclock_ack *ack);
    /* Losses that need an answer, at most once a window. */
    void (*on_loss)(void *self, uint64_t now, uint64_t lost, uint64_t in_flight);
    void (*on_rto)(void *self, uint64_t now, uint64_t in_flight);
    /* Marks that need an answer, at most once a window (RFC 3168). */
    void (*on_ecn)(void *self, uint64_t now, uint64_t in_flight);
    uint64_t (*cwnd)(const void *self);
    double (*pacing_rate)(const void *self); /* 0: segments leave as ACKs clock them */
    uint64_t (*ssthresh)(const void *self);  /* ACKCLOCK_NONE: there is none */
};

/* The library exports this one. */
const struct ackclock_controller *ackclock_controller_v1(void);

/* ---- the two ends of a connection ---- */

struct ackclock_status { /* ACKCLOCK_NONE for what is not known */
    uint64_t cwnd;
    uint64_t ssthresh;
    uint64_t srtt;
    uint64_t lost;              /* packets declared lost so far */
    uint64_t congestion_events; /* reductions for losses so far */
    uint64_t ecn_events;        /* reductions for marks so far */
    uint64_t timeouts;          /* expiries of the retransmission timer so far */
    const char *failure;        /* NULL, or why the endpoint cannot go on: ends the run */
};

struct ackclock_endpoints {
    uint32_t abi;     /* ACKCLOCK_ABI */
    uint32_t size;    /* sizeof(struct ackclock_endpoints) */
    const char *name; /* in results and errors */
    uint64_t header;  /* bytes that the network adds to a datagram: 28 for UDP over IPv4 */
    /* ends[0] opens the connection and sends, ends[1] receives. 0, or not 0 with the reason. */
    int (*connect)(const struct ackclock_setup *setup, void *ends[2], char *error, size_t error_size);
    void (*release)(void *end);
    /* Writes at most `capacity` bytes; returns how many, 0 if no datagram may leave. */
    size_t (*poll_transmit)(void *end, uint64_t now, uint8_t *buffer, size_t capacity, uint8_t *ecn);
    void (*handle_datagram)(void *end, uint64_t now, const uint8_t *bytes, size_t length, uint8_t ecn);
    uint64_t (*next_timeout)(void *end); /* ACKCLOCK_NONE: no timer runs */
    void (*handle_timeout)(void *end, uint64_t now);
    /* The application has written `written` bytes in all (UINT64_MAX: without end); returns the
       bytes that it has read in all. */
    uint64_t (*application)(void *end, uint64_t now, uint64_t written);
    void (*status)(void *end, struct ackclock_status *status);
};

/* The library exports this one. */
const struct ackclock_endpoints *ackclock_endpoints_v1(void);

#ifdef __cplusplus
}
#endif
#endif
