/*
 * picoquic's whole connections at both ends of ackclock's flows, unmodified: its time is simulated,
 * and is the run's. adapters/README.md says how to compile it against your clone of picoquic.
 *
 * Options: a congestion control of picoquic ("newreno", "cubic", "bbr", "bbr1", "prague", ...; its
 * default without one). The TLS is real, with picoquic's test certificate in CERTIFICATES. Flow
 * control is too large to matter, packets are of the path's size from the start; everything else is
 * picoquic's default. It leaves ECN to its sockets, which here are ackclock: ECT(1) for Prague,
 * ECT(0) for all others, where the scenario has `ecn`.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <picotls.h>

#include "ackclock.h"
#include "picoquic.h"
#include "picoquic_crypto_provider_api.h"
#include "picoquic_utils.h"
#include "tls_api.h"

#define ALPN "ackclock"
#define STREAM 2 /* the client's first, one way */
#define WINDOW ((uint64_t)1 << 40)

struct end {
    picoquic_quic_t *quic;
    picoquic_cnx_t *cnx;
    uint64_t now;           /* us */
    uint64_t random;        /* state */
    uint64_t written, sent; /* by the application; by the stack */
    uint64_t read;
    int is_client, is_ready, ecn;
    char failure[64];
};

/* picoquic's random numbers are global: calls come one at a time, and draw from their end's state. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct end *current;

static uint64_t draw(struct end *end) /* SplitMix64 */
{
    uint64_t mixed = end->random += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

static void provide(void *buffer, size_t length)
{
    for (uint8_t *at = buffer; length; at++, length--)
        *at = (uint8_t)draw(current);
}

static void enter(struct end *end, uint64_t now)
{
    pthread_mutex_lock(&turn);
    current = end;
    end->now = now / 1000;
    picoquic_public_random_seed_64(draw(end), 1);
}

static void leave(void)
{
    current = NULL;
    pthread_mutex_unlock(&turn);
}

static int event(picoquic_cnx_t *cnx, uint64_t stream, uint8_t *bytes, size_t length,
                 picoquic_call_back_event_t what, void *context, void *of_stream)
{
    struct end *end = context;
    (void)stream, (void)of_stream;
    end->cnx = cnx;
    switch (what) {
    case picoquic_callback_ready:
        end->is_ready = 1;
        break;
    case picoquic_callback_stream_data:
    case picoquic_callback_stream_fin:
        end->read += length;
        break;
    case picoquic_callback_prepare_to_send: {
        uint64_t left = end->written - end->sent;
        size_t most = left < length ? (size_t)left : length;
        uint8_t *room = picoquic_provide_stream_data_buffer(bytes, most, 0, left > most);
        if (room)
            memset(room, 0, most);
        end->sent += most;
        break;
    }
    case picoquic_callback_close:
    case picoquic_callback_application_close:
    case picoquic_callback_stateless_reset:
        snprintf(end->failure, sizeof end->failure, "the connection closed (error %u, %u of the peer)",
                 (unsigned)picoquic_get_local_error(cnx), (unsigned)picoquic_get_remote_error(cnx));
        break;
    default:
        break;
    }
    return 0;
}

static struct sockaddr_in address(int which)
{
    struct sockaddr_in socket_address = {.sin_family = AF_INET, .sin_port = htons(4433)};
    socket_address.sin_addr.s_addr = htonl(0x0a000001u + (unsigned)which);
    return socket_address;
}

static void release(void *of)
{
    struct end *end = of;
    if (!end)
        return;
    enter(end, end->now * 1000);
    if (end->quic)
        picoquic_free(end->quic);
    leave();
    free(end);
}

static struct end *make(const struct ackclock_setup *setup, int is_client,
                        const picoquic_congestion_algorithm_t *control)
{
    struct end *end = calloc(1, sizeof *end);
    if (!end)
        return NULL;
    end->is_client = is_client;
    end->random = setup->seed ^ ((uint64_t)is_client << 63);
    end->ecn = !setup->ecn ? ACKCLOCK_NOT_ECT
               : strncmp(setup->options, "prague", 6) == 0 ? ACKCLOCK_ECT1 : ACKCLOCK_ECT0;
    enter(end, 0);
    picoquic_tls_api_init();
    picoquic_register_crypto_random_provider_fn(provide);
    end->quic = picoquic_create(8, is_client ? NULL : CERTIFICATES "/cert.pem",
                                is_client ? NULL : CERTIFICATES "/key.pem", NULL, ALPN, event, end,
                                NULL, NULL, NULL, 0, &end->now, NULL, NULL, 0);
    if (end->quic) {
        picoquic_set_null_verifier(end->quic);
        picoquic_set_mtu_max(end->quic, (uint32_t)setup->max_datagram + 28);
        picoquic_set_default_pmtud_policy(end->quic, picoquic_pmtud_required);
        picoquic_set_default_tp_value(end->quic, picoquic_tp_initial_max_data, WINDOW);
        picoquic_set_default_tp_value(end->quic, picoquic_tp_initial_max_stream_data_uni, WINDOW);
        picoquic_set_default_idle_timeout(end->quic, 3600000);
        if (control)
            picoquic_set_default_congestion_algorithm(end->quic, control);
    }
    leave();
    if (!end->quic) {
        release(end);
        return NULL;
    }
    return end;
}

static int connect_ends(const struct ackclock_setup *setup, void *ends[2], char *error, size_t size)
{
    const picoquic_congestion_algorithm_t *control = NULL;
    if (setup->max_datagram < 1200) {
        snprintf(error, size, "QUIC needs datagrams of 1200 bytes (RFC 9000, section 14), not %lu",
                 (unsigned long)setup->max_datagram);
        return 1;
    }
    picoquic_register_all_congestion_control_algorithms();
    if (setup->options[0] && !(control = picoquic_get_congestion_algorithm(setup->options))) {
        snprintf(error, size, "options are a congestion control of picoquic, not \"%s\"", setup->options);
        return 1;
    }
    struct end *client = make(setup, 1, control), *server = make(setup, 0, control);
    if (!client || !server) {
        release(client), release(server);
        snprintf(error, size, "picoquic_create failed; are cert.pem and key.pem in " CERTIFICATES "?");
        return 1;
    }
    struct sockaddr_in to = address(1);
    enter(client, 0);
    client->cnx = picoquic_create_cnx(client->quic, picoquic_null_connection_id,
                                      picoquic_null_connection_id, (struct sockaddr *)&to, 0, 0,
                                      "test.example.com", ALPN, 1);
    int failed = !client->cnx || picoquic_start_client_cnx(client->cnx);
    leave();
    if (failed) {
        release(client), release(server);
        snprintf(error, size, "picoquic_start_client_cnx failed");
        return 1;
    }
    ends[0] = client, ends[1] = server;
    return 0;
}

static size_t poll_transmit(void *of, uint64_t now, uint8_t *buffer, size_t capacity, uint8_t *ecn)
{
    struct end *end = of;
    struct sockaddr_storage to, from;
    size_t length = 0;
    int interface = 0;
    picoquic_connection_id_t id;
    picoquic_cnx_t *last = NULL;
    enter(end, now);
    int failed = picoquic_prepare_next_packet(end->quic, end->now, buffer, capacity, &length, &to, &from,
                                              &interface, &id, &last);
    leave();
    if (failed && failed != PICOQUIC_ERROR_DISCONNECTED && !end->failure[0])
        snprintf(end->failure, sizeof end->failure, "picoquic_prepare_next_packet: error %d", failed);
    *ecn = (uint8_t)end->ecn;
    return failed ? 0 : length;
}

static void handle_datagram(void *of, uint64_t now, const uint8_t *bytes, size_t length, uint8_t ecn)
{
    struct end *end = of;
    struct sockaddr_in from = address(end->is_client), to = address(!end->is_client);
    uint8_t *copy = malloc(length); /* it is decrypted in place */
    if (!copy)
        return;
    memcpy(copy, bytes, length);
    enter(end, now);
    picoquic_incoming_packet(end->quic, copy, length, (struct sockaddr *)&from, (struct sockaddr *)&to, 0,
                             ecn, end->now);
    leave();
    free(copy);
}

static uint64_t next_timeout(void *of)
{
    struct end *end = of;
    enter(end, end->now * 1000);
    uint64_t due = picoquic_get_next_wake_time(end->quic, end->now);
    leave();
    if (due == UINT64_MAX)
        return ACKCLOCK_NONE;
    return 1000 * (due > end->now ? due : end->now + 1); /* what could leave now has left */
}

static void handle_timeout(void *end, uint64_t now)
{
    enter(end, now); /* its timers expire when it is asked for packets */
    leave();
}

static uint64_t application(void *of, uint64_t now, uint64_t written)
{
    struct end *end = of;
    enter(end, now);
    if (end->is_client && end->is_ready && written > end->written) {
        end->written = written;
        picoquic_mark_active_stream(end->cnx, STREAM, 1, NULL);
    }
    leave();
    return end->read;
}

static void status(void *of, struct ackclock_status *report)
{
    struct end *end = of;
    memset(report, 0xff, sizeof *report); /* nothing is known */
    report->failure = end->failure[0] ? end->failure : NULL;
    if (!end->cnx)
        return;
    picoquic_path_quality_t path;
    enter(end, end->now * 1000);
    picoquic_get_default_path_quality(end->cnx, &path);
    leave();
    report->cwnd = path.cwin;
    report->srtt = 1000 * path.rtt;
    report->lost = path.lost;
}

static const struct ackclock_endpoints table = {
    .abi = ACKCLOCK_ABI, .size = sizeof table, .name = "picoquic", .header = 28,
    .connect = connect_ends, .release = release, .poll_transmit = poll_transmit,
    .handle_datagram = handle_datagram, .next_timeout = next_timeout, .handle_timeout = handle_timeout,
    .application = application, .status = status,
};

const struct ackclock_endpoints *ackclock_endpoints_v1(void) { return &table; }
