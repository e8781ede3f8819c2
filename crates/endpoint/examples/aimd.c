/*
 * An AIMD controller: one segment a round trip, half at a loss. Options: "beta=0.7", the fraction
 * of the window that remains.
 *
 *   cc -O2 -shared -fPIC -I ../include -o libaimd.so aimd.c
 */
#include "ackclock.h"

#include <stdio.h>
#include <stdlib.h>

struct aimd {
    double mss, beta, cwnd, ssthresh;
};

static void *init(const struct ackclock_setup *setup, char *error, size_t error_size)
{
    double beta = 0.5;
    char rest;
    if (setup->options[0] &&
        (sscanf(setup->options, "beta=%lf%c", &beta, &rest) != 1 || !(beta > 0 && beta < 1))) {
        snprintf(error, error_size, "options are \"beta=\" and a number between 0 and 1, not \"%s\"",
                 setup->options);
        return NULL;
    }
    struct aimd *self = malloc(sizeof *self);
    if (self)
        *self = (struct aimd){.mss = setup->max_datagram, .beta = beta,
                              .cwnd = 10.0 * setup->max_datagram, .ssthresh = 1e18};
    return self;
}

static void release(void *self) { free(self); }

static void on_ack(void *this, const struct ackclock_ack *ack)
{
    struct aimd *self = this;
    if (ack->in_recovery || !ack->cwnd_limited)
        return;
    if (self->cwnd < self->ssthresh)
        self->cwnd += ack->acked;
    else
        self->cwnd += self->mss * ack->acked / self->cwnd;
}

static void reduce(struct aimd *self)
{
    self->ssthresh = self->beta * self->cwnd;
    if (self->ssthresh < 2 * self->mss)
        self->ssthresh = 2 * self->mss;
    self->cwnd = self->ssthresh;
}

static void on_loss(void *self, uint64_t now, uint64_t lost, uint64_t in_flight)
{
    (void)now, (void)lost, (void)in_flight;
    reduce(self);
}

static void on_rto(void *this, uint64_t now, uint64_t in_flight)
{
    struct aimd *self = this;
    (void)now, (void)in_flight;
    reduce(self);
    self->cwnd = self->mss;
}

static void on_ecn(void *self, uint64_t now, uint64_t in_flight)
{
    (void)now, (void)in_flight;
    reduce(self);
}

static uint64_t cwnd(const void *self) { return ((const struct aimd *)self)->cwnd; }

static double pacing_rate(const void *self)
{
    (void)self;
    return 0; /* as ACKs clock the segments */
}

static uint64_t ssthresh(const void *this)
{
    const struct aimd *self = this;
    return self->ssthresh < 1e18 ? (uint64_t)self->ssthresh : ACKCLOCK_NONE;
}

static const struct ackclock_controller table = {
    .abi = ACKCLOCK_ABI, .size = sizeof table, .name = "aimd",
    .init = init, .release = release, .on_ack = on_ack, .on_loss = on_loss, .on_rto = on_rto,
    .on_ecn = on_ecn, .cwnd = cwnd, .pacing_rate = pacing_rate, .ssthresh = ssthresh,
};

const struct ackclock_controller *ackclock_controller_v1(void) { return &table; }
