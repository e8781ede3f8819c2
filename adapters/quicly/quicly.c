/*
 * quicly's whole connections at both ends of ackclock's flows, unmodified: it takes the time, in
 * whole milliseconds, from a function, which here returns the run's. adapters/README.md says how to
 * compile it against your clone of quicly.
 *
 * Options: "reno" (the default, as in quicly), "cubic" or "pico". The TLS is real, with the test
 * certificate of quicly in CERTIFICATES. Flow control is too large to matter, packets are of the
 * path's size; everything else is as in quicly_spec_context.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/pem.h>
#include <picotls.h>
#include <picotls/openssl.h>

#include "ackclock.h"
#include "quicly.h"
#include "quicly/defaults.h"

#define WINDOW (1u << 30) /* quicly keeps 32 bits of it */
#define MS 1000000u /* ns */
#define BURST 10    /* datagrams that quicly makes at a time; probes come in pairs */
#define CLOCK_OFFSET_MS 1000  /* ms: quicly's clock is not at zero when a run begins */

struct end {
    quicly_now_t clock; /* the two stand first, so that quicly's callbacks find their end */
    ptls_get_time_t time;
    quicly_stream_open_t open;
    quicly_closed_by_remote_t closed;
    ptls_context_t tls;
    quicly_context_t context;
    ptls_openssl_sign_certificate_t signer;
    quicly_conn_t *conn;
    quicly_stream_t *stream;
    quicly_address_t address, peer;
    uint64_t now;                    /* ns */
    uint64_t random;                 /* state */
    uint64_t written, acknowledged;  /* by the application; by the peer */
    uint64_t read;
    int is_client;
    char failure[64];
    struct iovec datagrams[BURST]; /* datagrams that wait for the network, in `buffer` */
    size_t count, next;
    uint8_t buffer[BURST * UINT16_MAX];
};

static _Thread_local struct end *current; /* whose random numbers are drawn */

static void provide(void *buffer, size_t length)
{
    for (uint8_t *at = buffer; length; at++, length--) { /* SplitMix64 */
        uint64_t mixed = current->random += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        *at = (uint8_t)(mixed ^ (mixed >> 31));
    }
}

static int64_t clock_ms(quicly_now_t *self)
{
    const struct end *end = (const struct end *)self;
    return (int64_t)(end->now / MS) + CLOCK_OFFSET_MS;
}

static uint64_t tls_ms(ptls_get_time_t *self)
{
    const struct end *end = (const struct end *)((char *)self - offsetof(struct end, time));
    return end->now / MS + CLOCK_OFFSET_MS;
}

static void enter(struct end *end, uint64_t now)
{
    current = end;
    end->now = now;
}

static void on_destroy(quicly_stream_t *stream, quicly_error_t error)
{
    (void)error;
    struct end *end = stream->data;
    end->stream = NULL;
}

static void on_send_shift(quicly_stream_t *stream, size_t delta)
{
    struct end *end = stream->data;
    end->acknowledged += delta;
}

static void on_send_emit(quicly_stream_t *stream, size_t offset, void *room, size_t *length, int *wrote_all)
{
    const struct end *end = stream->data;
    uint64_t left = end->written - end->acknowledged - offset;
    *wrote_all = left <= *length;
    if (left < *length)
        *length = (size_t)left;
    memset(room, 0, *length);
}

static void on_send_stop(quicly_stream_t *stream, quicly_error_t error) { (void)stream, (void)error; }

static void on_receive(quicly_stream_t *stream, size_t offset, const void *bytes, size_t length)
{
    struct end *end = stream->data;
    (void)offset, (void)bytes, (void)length;
    uint64_t whole = stream->recvstate.received.ranges[0].end;
    if (stream->recvstate.data_off < whole)
        quicly_stream_sync_recvbuf(stream, (size_t)(whole - stream->recvstate.data_off));
    end->read = stream->recvstate.data_off;
}

static void on_receive_reset(quicly_stream_t *stream, quicly_error_t error) { (void)stream, (void)error; }

static quicly_error_t on_open(quicly_stream_open_t *self, quicly_stream_t *stream)
{
    static const quicly_stream_callbacks_t callbacks = {on_destroy,   on_send_shift, on_send_emit,
                                                        on_send_stop, on_receive,    on_receive_reset};
    stream->data = (char *)self - offsetof(struct end, open);
    stream->callbacks = &callbacks;
    return 0;
}

static void on_closed(quicly_closed_by_remote_t *self, quicly_conn_t *conn, quicly_error_t error, uint64_t frame,
                      const char *reason, size_t length)
{
    struct end *end = (struct end *)((char *)self - offsetof(struct end, closed));
    (void)conn, (void)frame;
    snprintf(end->failure, sizeof end->failure, "the peer closed the connection: error 0x%llx %.*s",
             (unsigned long long)error, (int)length, reason);
}

static void release(void *of)
{
    struct end *end = of;
    if (!end)
        return;
    enter(end, end->now);
    if (end->conn)
        quicly_free(end->conn);
    if (end->signer.key)
        ptls_openssl_dispose_sign_certificate(&end->signer);
    for (size_t at = 0; at < end->tls.certificates.count; at++)
        free(end->tls.certificates.list[at].base);
    free(end->tls.certificates.list);
    free(end);
}

static int certify(struct end *end)
{
    FILE *file = fopen(CERTIFICATES "/server.key", "r");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    if (file)
        fclose(file);
    if (!key)
        return -1;
    int failed = ptls_openssl_init_sign_certificate(&end->signer, key);
    EVP_PKEY_free(key);
    end->tls.sign_certificate = &end->signer.super;
    return failed ? failed : ptls_load_certificates(&end->tls, CERTIFICATES "/server.crt");
}

static struct end *make(const struct ackclock_setup *setup, int is_client, quicly_cc_type_t *control)
{
    struct end *end = calloc(1, sizeof *end);
    if (!end)
        return NULL;
    end->is_client = is_client;
    end->random = setup->seed ^ ((uint64_t)is_client << 63);
    end->clock.cb = clock_ms;
    end->time.cb = tls_ms;
    end->open.cb = on_open;
    end->closed.cb = on_closed;
    end->address.sin.sin_family = end->peer.sin.sin_family = AF_INET;
    end->address.sin.sin_port = end->peer.sin.sin_port = htons(4433);
    end->address.sin.sin_addr.s_addr = htonl(0x0a000001u + (is_client ? 0 : 1));
    end->peer.sin.sin_addr.s_addr = htonl(0x0a000001u + (is_client ? 1 : 0));
    end->tls = (ptls_context_t){.random_bytes = provide, .get_time = &end->time,
                                .key_exchanges = ptls_openssl_key_exchanges,
                                .cipher_suites = ptls_openssl_cipher_suites};
    if (!is_client && certify(end)) {
        release(end);
        return NULL;
    }
    quicly_amend_ptls_context(&end->tls);
    end->context = quicly_spec_context;
    end->context.tls = &end->tls;
    end->context.now = &end->clock;
    end->context.stream_open = &end->open;
    end->context.closed_by_remote = &end->closed;
    end->context.init_cc = control->cc_init;
    end->context.initial_egress_max_udp_payload_size = (uint16_t)setup->max_datagram;
    end->context.transport_params.max_udp_payload_size = (uint16_t)setup->max_datagram;
    end->context.transport_params.max_streams_uni = 1;
    end->context.transport_params.max_stream_data.uni = WINDOW;
    end->context.transport_params.max_data = WINDOW;
    end->context.transport_params.max_idle_timeout = 3600000;
    end->context.enable_ratio.ecn = setup->ecn ? 255 : 0;
    return end;
}

static int connect_ends(const struct ackclock_setup *setup, void *ends[2], char *error, size_t size)
{
    const char *wanted = setup->options[0] ? setup->options : "reno";
    quicly_cc_type_t **control = quicly_cc_all_types;
    while (*control && strcmp((*control)->name, wanted) != 0)
        control++;
    if (!*control) {
        snprintf(error, size, "options are \"reno\", \"cubic\" or \"pico\", not \"%s\"", wanted);
        return 1;
    }
    if (setup->max_datagram < 1200 || setup->max_datagram > UINT16_MAX) {
        snprintf(error, size, "QUIC needs datagrams of 1200 to 65535 bytes (RFC 9000, section 14), not %lu",
                 (unsigned long)setup->max_datagram);
        return 1;
    }
    struct end *client = make(setup, 1, *control), *server = make(setup, 0, *control);
    if (!client || !server) {
        release(client), release(server);
        snprintf(error, size, "server.key or server.crt cannot be read in " CERTIFICATES);
        return 1;
    }
    enter(client, 0);
    quicly_cid_plaintext_t id = {.master_id = 1};
    quicly_error_t failed = quicly_connect(&client->conn, &client->context, "test.example.com", &client->peer.sa,
                                           &client->address.sa, &id, ptls_iovec_init(NULL, 0), NULL, NULL, NULL);
    if (!failed)
        failed = quicly_open_stream(client->conn, &client->stream, 1);
    if (failed) {
        release(client), release(server);
        snprintf(error, size, "quicly_connect: error %lld", (long long)failed);
        return 1;
    }
    ends[0] = client, ends[1] = server;
    return 0;
}

static size_t poll_transmit(void *of, uint64_t now, uint8_t *buffer, size_t capacity, uint8_t *ecn)
{
    struct end *end = of;
    enter(end, now);
    if (!end->conn || end->failure[0])
        return 0;
    if (end->next == end->count) {
        quicly_address_t to, from;
        end->next = 0, end->count = BURST;
        quicly_error_t failed =
            quicly_send(end->conn, &to, &from, end->datagrams, &end->count, end->buffer, BURST * capacity);
        if (failed) {
            end->count = 0;
            snprintf(end->failure, sizeof end->failure, "quicly_send: error %lld", (long long)failed);
        }
        if (end->count == 0)
            return 0;
    }
    const struct iovec *datagram = &end->datagrams[end->next++];
    memcpy(buffer, datagram->iov_base, datagram->iov_len);
    *ecn = quicly_send_get_ecn_bits(end->conn);
    return datagram->iov_len;
}

static void handle_datagram(void *of, uint64_t now, const uint8_t *bytes, size_t length, uint8_t ecn)
{
    struct end *end = of;
    uint8_t *copy = malloc(length); /* it is decrypted in place */
    if (!copy)
        return;
    memcpy(copy, bytes, length);
    enter(end, now);
    for (size_t offset = 0; offset < length;) {
        quicly_decoded_packet_t packet;
        if (quicly_decode_packet(&end->context, &packet, copy, length, &offset) == SIZE_MAX)
            break;
        packet.ecn = ecn;
        quicly_cid_plaintext_t id = {.master_id = 2};
        quicly_error_t failed =
            end->conn ? quicly_receive(end->conn, &end->address.sa, &end->peer.sa, &packet)
                      : quicly_accept(&end->conn, &end->context, &end->address.sa, &end->peer.sa, &packet, NULL, &id,
                                      NULL, NULL);
        if (failed && failed != QUICLY_ERROR_PACKET_IGNORED && !end->failure[0])
            snprintf(end->failure, sizeof end->failure, "a packet was refused: error %lld", (long long)failed);
    }
    free(copy);
}

static uint64_t next_timeout(void *of)
{
    struct end *end = of;
    if (!end->conn)
        return ACKCLOCK_NONE;
    enter(end, end->now);
    int64_t due = quicly_get_first_timeout(end->conn);
    if (due == INT64_MAX)
        return ACKCLOCK_NONE;
    int64_t next = clock_ms(&end->clock) + 1; /* what could leave now has left */
    return (uint64_t)((due > next ? due : next) - CLOCK_OFFSET_MS) * MS;
}

static void handle_timeout(void *end, uint64_t now)
{
    enter(end, now); /* its timers expire when it is asked for packets */
}

static uint64_t application(void *of, uint64_t now, uint64_t written)
{
    struct end *end = of;
    enter(end, now);
    if (end->stream && written > end->written) {
        end->written = written;
        quicly_stream_sync_sendbuf(end->stream, 1);
    }
    return end->read;
}

static void status(void *of, struct ackclock_status *report)
{
    struct end *end = of;
    memset(report, 0xff, sizeof *report); /* nothing is known */
    report->failure = end->failure[0] ? end->failure : NULL;
    quicly_stats_t stats;
    enter(end, end->now);
    if (!end->conn || quicly_get_stats(end->conn, &stats))
        return;
    report->cwnd = stats.cc.cwnd;
    report->ssthresh = stats.cc.ssthresh == UINT32_MAX ? ACKCLOCK_NONE : stats.cc.ssthresh;
    report->srtt = (uint64_t)stats.rtt.smoothed * MS;
    report->lost = stats.num_packets.lost;
    report->congestion_events = stats.cc.num_loss_episodes;
    report->timeouts = stats.num_ptos;
}

static const struct ackclock_endpoints table = {
    .abi = ACKCLOCK_ABI, .size = sizeof table, .name = "quicly", .header = 28,
    .connect = connect_ends, .release = release, .poll_transmit = poll_transmit,
    .handle_datagram = handle_datagram, .next_timeout = next_timeout, .handle_timeout = handle_timeout,
    .application = application, .status = status,
};

const struct ackclock_endpoints *ackclock_endpoints_v1(void) { return &table; }
