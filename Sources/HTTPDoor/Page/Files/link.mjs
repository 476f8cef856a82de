// The connection to the daemon: a socket for everything, made again whenever it is lost, and never believed to be alive for long
// without an answer.

export const pingEvery = 8e3;
export const answerWithin = 12e3;
const attemptsAt = [500, 1000, 2000, 4000, 8000];

export class Link {
  /**
   * `host` has fetch, WebSocket, now, every(ms, f), after(ms, f) → cancel, random; `listener` has changed(state), opened(dataset),
   * message(topic, payload), dataset(dataset) and jumped(). A state is {name, detail}: connecting, online, lost, key, denied, missing.
   */
  constructor(base, {dataset, client, key}, host, listener) {
    Object.assign(this, {base, dataset, client, key, host, listener});
    this.state = {name: 'connecting'};
    this.waiting = new Map();
    this.attempt = 0;
    this.serial = 0;
    // Replies are remembered by the daemon for each id: no two pages may have the same.
    this.prefix = Math.floor(host.random() * 2 ** 52).toString(36) + '-';
    this.stopTicking = host.every(1000, () => this.tick());
    this.tickAt = host.now();
    this.connect();
  }

  close() {
    this.isClosed = true;
    this.stopTicking();
    this.drop();
  }

  get isOnline() { return this.state.name === 'online'; }

  set(name, detail) {
    if (this.isClosed) return;
    this.state = {name, detail, since: this.host.now()};
    this.listener.changed(this.state);
  }

  /** Asks plainly first: a socket that is refused says nothing of the reason. */
  async connect() {
    const mine = (this.current = {});
    let answer;
    try {
      const headers = {};
      if (this.key) headers.Authorization = `Bearer ${this.key}`;
      else if (this.client) headers['Geomatch-Client'] = this.client;
      const path = `api/${encodeURIComponent(this.dataset)}/dataset/get`;
      const response = await this.host.fetch(new URL(path, this.base), {headers, cache: 'no-store'}, answerWithin);
      answer = {status: response.status, body: await response.json().catch(() => ({}))};
    } catch {
      answer = {status: 0};
    }
    if (this.isClosed || mine !== this.current) return;
    const message = answer.body?.error?.message;
    if (answer.status === 401 && answer.body?.error && !/may not name/.test(message)) return this.set('key', message);
    if (answer.status === 401 || answer.status === 403) return this.set('denied', message);
    if (answer.status === 404) this.set('missing', message);
    if (answer.status !== 200) return this.retry(answer.status === 404 ? null : message ?? 'the daemon does not answer');
    this.open(mine, answer.body?.result);
  }

  open(mine, dataset) {
    const url = new URL(`api/${encodeURIComponent(this.dataset)}/socket`, this.base);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    if (this.key) url.searchParams.set('key', this.key);
    else if (this.client) url.searchParams.set('client', this.client);
    const socket = new this.host.WebSocket(url.href);
    this.socket = socket;
    const isMine = () => mine === this.current;
    this.openBy = this.host.now() + answerWithin;
    socket.onopen = () => {
      if (!isMine()) return;
      this.attempt = 0;
      /** When the daemon was heard last, and from when on it is waited for: after a sleep these are two. */
      this.heardAt = this.waitingFrom = this.pingAt = this.host.now();
      this.openBy = null;
      this.set('online');
      this.listener.opened(dataset);
    };
    socket.onmessage = ({data}) => { if (isMine()) this.receive(data); };
    socket.onclose = ({code}) => {
      if (!isMine()) return;
      if (code === 1008) {
        this.drop();
        this.attempt = Math.max(this.attempt, 1);
        return this.retry('the daemon closed the connection: the key may be deleted');
      }
      this.retry(code === 1001 ? 'the daemon ends' : code === 1013 ? 'too much at once for this connection' : 'the connection is closed');
    };
  }

  receive(data) {
    this.heardAt = this.waitingFrom = this.host.now();
    const message = JSON.parse(data);
    if (message.topic) return this.listener.message(message.topic, message.payload);
    const reply = this.waiting.get(message.requestId);
    if (!reply) return;
    this.waiting.delete(message.requestId);
    if (message.error) reply.reject(Object.assign(new Error(message.error.message), message.error));
    else reply.resolve(message.result);
  }

  /** A request; its result, or an error with `code`, `error` and `message`. */
  ask(request, parameters = {}) {
    return new Promise((resolve, reject) => {
      if (!this.isOnline) return reject(new Error('not connected'));
      const requestId = this.prefix + ++this.serial;
      this.waiting.set(requestId, {resolve, reject, since: this.host.now()});
      this.socket.send(JSON.stringify({request, requestId, ...parameters}));
    });
  }

  tick() {
    const now = this.host.now();
    // The machine slept, or its clock was set: what came meanwhile is still to be read, and the daemon is asked whether it is there.
    const passed = now - this.tickAt;
    this.tickAt = now;
    if (passed > 5000 || passed < 0) {
      this.waitingFrom = now;
      this.pingAt = now - pingEvery;
      if (this.heardAt > now) this.heardAt = now;
      for (const reply of this.waiting.values()) reply.since = now;
      if (this.openBy) this.openBy = now + answerWithin;
      if (this.isOnline) this.listener.jumped?.();
    }
    if (this.openBy && now > this.openBy) return this.retry('the daemon does not answer');
    if (!this.isOnline) return;
    if (now - this.waitingFrom > pingEvery + answerWithin) return this.retry('the daemon does not answer');
    if (now - this.pingAt >= pingEvery) {
      this.pingAt = now;
      this.ask('dataset/get').then((dataset) => this.listener.dataset?.(dataset), () => {});
    }
    const oldest = this.waiting.values().next().value;
    if (oldest && now - oldest.since > 2 * answerWithin) this.retry('the daemon does not answer');
  }

  drop() {
    this.current = null;
    this.openBy = null;
    this.cancelRetry?.();
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
    for (const {reject} of this.waiting.values()) reject(new Error('the connection is lost'));
    this.waiting.clear();
  }

  retry(why) {
    this.drop();
    if (why) this.set('lost', why);
    const wait = attemptsAt[Math.min(this.attempt++, attemptsAt.length - 1)];
    this.cancelRetry = this.host.after(wait * (0.75 + this.host.random() / 2), () => this.connect());
  }
}
