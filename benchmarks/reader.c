/*
 * reader: the least that a client of a streaming LLM server can do, as the limit that others are compared with.
 *
 * One thread, one epoll, one recvmsg for each readiness. It opens its connections first; then it sends requests, either N at once and
 * the next one when one has ended (bursts), or at a fixed rate (spread). Of each event with a token it keeps two times: the kernel's
 * receive stamp (SO_TIMESTAMPING, software) of the read that completed it, and the clock after that read. It undoes the chunked
 * encoding and finds the events' lines; it parses no JSON, counts no tokens and writes nothing while it runs.
 *
 *     cc -O2 -Wall -o reader reader.c
 *     ./reader 127.0.0.1 8000 100 300 200 > stamps.jsonl      100 connections, 300 requests of 200 tokens
 *
 * Output, JSON lines: first one of the run, then one of each request. Times are ns of CLOCK_REALTIME; the first line has that clock
 * and CLOCK_MONOTONIC read together before and after the load, so that a step of the former shows.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_LINE = 8192, LONGEST_RUN_S = 120, READ = 64 << 10 };

struct request {
    char id[37];
    int64_t sent; /* just before it was */
    int events;
    int64_t *kernel, *user; /* of each event with a token; kernel 0: no stamp came */
};

/* What is there of a line whose end has not come yet. */
struct part {
    size_t n;
    char text[LONGEST_LINE];
};

struct conn {
    int fd;
    struct request *req; /* 0: free */
    enum { STATUS, HEADER, SIZE, DATA, DATA_END, TRAILER } state;
    int chunked;
    size_t left; /* of the chunk */
    struct part control, data;
};

static struct {
    const char *host, *model;
    int port, connections, requests, tokens;
    double rate; /* requests/s; 0: the next one when one has ended */
} opt;

static struct request *requests;
static struct conn *conns;
static int *idle, idles;            /* stack of the free connections */
static int started, arrived, ended; /* requests: sent, due, over */
static long reads, missing;         /* reads that brought something; events without a kernel stamp */

#define die(...) (fprintf(stderr, "reader: " __VA_ARGS__), fputc('\n', stderr), exit(1))

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void prepare(void)
{
    requests = calloc(opt.requests, sizeof *requests);
    size_t all = (size_t)opt.requests * opt.tokens;
    unsigned run = now(CLOCK_REALTIME) / 1000; /* tells the ids of this run from others' */
    int64_t *kernel = malloc(all * sizeof *kernel), *user = malloc(all * sizeof *user);
    if (!requests || !kernel || !user)
        die("out of memory");
    memset(kernel, 0, all * sizeof *kernel), memset(user, 0, all * sizeof *user); /* now, so that the pages are there */
    for (int i = 0; i < opt.requests; i++) {
        /* in the form of a UUID, which is all that some servers take */
        snprintf(requests[i].id, sizeof requests[i].id, "%08x-%04x-4000-8000-%012x", run, getpid() & 0xffff, i);
        requests[i].kernel = kernel + (size_t)i * opt.tokens;
        requests[i].user = user + (size_t)i * opt.tokens;
    }
}

static void open_connections(int epoll)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(opt.port)};
    if (inet_pton(AF_INET, opt.host, &to.sin_addr) != 1)
        die("%s is no IPv4 address", opt.host);
    conns = calloc(opt.connections, sizeof *conns);
    idle = calloc(opt.connections, sizeof *idle);
    if (!conns || !idle)
        die("out of memory");
    for (int i = opt.connections - 1; i >= 0; i--) {
        struct conn *c = &conns[i];
        int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, on = 1;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to))
            die("connection %d: %s (many connections: ulimit -n)", opt.connections - i, strerror(errno));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps))
            die("no receive stamps: %s", strerror(errno));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e);
        idle[idles++] = i;
    }
}

static void send_request(struct conn *c, struct request *r)
{
    char body[1024], text[2048];
    int n = sprintf(body,
                    "{\"model\":\"%.200s\",\"prompt\":\"the of and to in a is that for it\",\"max_tokens\":%d,\"min_tokens\":%d,"
                    "\"ignore_eos\":true,\"temperature\":0,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
                    opt.model, opt.tokens, opt.tokens);
    n = sprintf(text,
                "POST /v1/completions HTTP/1.1\r\nHost: %.200s:%d\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\n"
                "Content-Length: %d\r\n\r\n%s",
                opt.host, opt.port, r->id, n, body);
    c->req = r;
    c->state = STATUS;
    c->chunked = 0;
    r->sent = now(CLOCK_REALTIME);
    if (send(c->fd, text, n, MSG_NOSIGNAL) != n)
        die("sending request %s: %s", r->id, strerror(errno));
}

/* Sends what is due, as far as there are free connections. */
static void dispatch(void)
{
    while (started < arrived && idles > 0)
        send_request(&conns[idle[--idles]], &requests[started++]);
}

static void finish(struct conn *c)
{
    if (c->req->events != opt.tokens)
        die("request %s had %d events, not %d", c->req->id, c->req->events, opt.tokens);
    c->req = 0;
    idle[idles++] = c - conns;
    ended++;
    if (opt.rate == 0 && arrived < opt.requests)
        arrived++;
    dispatch();
}

/* Takes a line from *p; 0 when its end is not there. It is valid until the next call. */
static int take_line(struct part *part, const char **p, const char *end, const char **line, size_t *len)
{
    const char *nl = memchr(*p, '\n', end - *p);
    size_t n = (nl ? nl : end) - *p;
    *line = *p;
    *len = n;
    if (part->n || !nl) {
        if (part->n + n > sizeof part->text)
            die("a line of more than %d bytes", LONGEST_LINE);
        memcpy(part->text + part->n, *p, n);
        part->n += n;
        *line = part->text;
        *len = part->n;
    }
    *p += n + (nl != 0);
    if (!nl)
        return 0;
    part->n = 0;
    if (*len > 0 && (*line)[*len - 1] == '\r')
        --*len;
    return 1;
}

/* An event has a token if its choices are not empty; the one with the usage has "choices":[]. */
static void event(struct request *r, const char *line, size_t len, int64_t kernel, int64_t user)
{
    static const char choice[] = "\"choices\":[{";
    if (len < 6 || memcmp(line, "data: ", 6) || !memmem(line, len, choice, sizeof choice - 1))
        return;
    if (r->events == opt.tokens)
        die("request %s has more than %d events", r->id, opt.tokens);
    r->kernel[r->events] = kernel;
    r->user[r->events++] = user;
    missing += kernel == 0;
}

/* A line of what is around the events: status, headers, sizes of chunks. */
static void control(struct conn *c, const char *line, size_t len)
{
    switch (c->state) {
    case STATUS:
        if (len < 12 || memcmp(line, "HTTP/1.1 200", 12))
            die("request %s: %.*s", c->req->id, (int)len, line);
        c->state = HEADER;
        break;
    case HEADER:
        c->chunked |= len == 26 && !strncasecmp(line, "Transfer-Encoding: chunked", len);
        if (len == 0 && !c->chunked)
            die("the answer is not chunked");
        if (len == 0)
            c->state = SIZE;
        break;
    case SIZE:
        c->left = strtoul(line, 0, 16);
        c->state = c->left ? DATA : TRAILER;
        break;
    case TRAILER:
        if (len == 0)
            finish(c);
        break;
    default: /* DATA_END: the empty line behind a chunk */
        c->state = SIZE;
    }
}

static void feed(struct conn *c, const char *p, size_t n, int64_t kernel, int64_t user)
{
    const char *end = p + n, *line;
    size_t len;
    while (p < end) {
        if (!c->req)
            die("bytes after the end of an answer");
        if (c->state != DATA) {
            if (take_line(&c->control, &p, end, &line, &len))
                control(c, line, len);
            continue;
        }
        const char *from = p, *stop = c->left < (size_t)(end - p) ? p + c->left : end;
        while (p < stop)
            if (take_line(&c->data, &p, stop, &line, &len))
                event(c->req, line, len, kernel, user);
        c->left -= p - from;
        if (!c->left)
            c->state = DATA_END;
    }
}

static void read_some(struct conn *c)
{
    static char buf[READ];
    char oob[256];
    struct iovec iov = {buf, sizeof buf};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = oob, .msg_controllen = sizeof oob};
    ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);
    int64_t user = now(CLOCK_REALTIME), kernel = 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        die("the server closed a connection%s%s", n ? ": " : "", n ? strerror(errno) : "");
    reads++;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_TIMESTAMPING) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(h), sizeof t); /* the first of three is the software stamp */
            kernel = t.tv_sec * 1000000000LL + t.tv_nsec;
        }
    feed(c, buf, n, kernel, user);
}

/* A timer that fires at the rate. */
static int ticker(int epoll)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int64_t gap = 1e9 / opt.rate;
    struct timespec every = {gap / 1000000000, gap % 1000000000};
    timerfd_settime(fd, 0, &(struct itimerspec){every, every}, 0);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = 0};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
    return fd;
}

static void tick(int timer)
{
    uint64_t fired;
    if (read(timer, &fired, sizeof fired) == sizeof fired)
        arrived = fired < (uint64_t)(opt.requests - arrived) ? arrived + (int)fired : opt.requests;
    dispatch();
}

static void load(int epoll)
{
    int timer = opt.rate > 0 ? ticker(epoll) : -1;
    if (timer < 0)
        arrived = opt.connections < opt.requests ? opt.connections : opt.requests;
    dispatch();
    struct epoll_event ready[256];
    while (ended < opt.requests) {
        int n = epoll_wait(epoll, ready, 256, -1);
        if (n < 0 && errno != EINTR)
            die("epoll_wait: %s", strerror(errno));
        for (int i = 0; i < n; i++)
            if (ready[i].data.ptr)
                read_some(ready[i].data.ptr);
            else
                tick(timer);
    }
}

static void print_times(const char *name, const int64_t *t, int n)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++)
        printf(i ? ",%lld" : "%lld", (long long)t[i]);
    printf("]");
}

static void options(int argc, char **argv)
{
    if (argc < 6 || argc > 8)
        die("usage: reader ADDRESS PORT CONNECTIONS REQUESTS TOKENS [REQUESTS/S (0: bursts) [MODEL]]");
    opt.host = argv[1], opt.port = atoi(argv[2]);
    opt.connections = atoi(argv[3]), opt.requests = atoi(argv[4]), opt.tokens = atoi(argv[5]);
    opt.rate = argc > 6 ? atof(argv[6]) : 0;
    opt.model = argc > 7 ? argv[7] : "bench-mock";
    if (opt.connections < 1 || opt.requests < 1 || opt.tokens < 1 || opt.rate < 0)
        die("connections, requests and tokens must be positive");
}

int main(int argc, char **argv)
{
    options(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1);
    alarm(LONGEST_RUN_S); /* whatever happens, it ends */
    prepare();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_connections(epoll);
    int64_t mono[2] = {now(CLOCK_MONOTONIC)}, real[2] = {now(CLOCK_REALTIME)};
    int64_t used = now(CLOCK_PROCESS_CPUTIME_ID); /* user and system */
    load(epoll);
    used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    mono[1] = now(CLOCK_MONOTONIC), real[1] = now(CLOCK_REALTIME);
    printf("{\"requests\":%d,\"events\":%lld,\"reads\":%ld,\"missing_stamps\":%ld,\"cpu_s\":%.6f", opt.requests,
           (long long)opt.requests * opt.tokens, reads, missing, used / 1e9);
    print_times("realtime_ns", real, 2);
    print_times("monotonic_ns", mono, 2);
    printf("}\n");
    for (struct request *r = requests; r < requests + opt.requests; r++) {
        printf("{\"id\":\"%s\",\"sent_ns\":%lld", r->id, (long long)r->sent);
        print_times("kernel_ns", r->kernel, r->events);
        print_times("user_ns", r->user, r->events);
        printf("}\n");
    }
    return fflush(stdout) ? 1 : 0;
}
