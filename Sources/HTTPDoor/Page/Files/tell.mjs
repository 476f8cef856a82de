// Notifications of a subscription in this browser, also while the page is closed (Web Push).

/** Has this browser named among the pushers of subscriptions, or not any more. */
export class Bell {
  /** `host` has navigator, Notification and PushManager of a window; where one is missing, nothing is offered. */
  constructor(base, host) {
    Object.assign(this, {base, host});
    this.key = null;
    this.endpoint = null;
  }

  get isThere() { return this.key !== null; }

  /** Asks the daemon whether it pushes, and the browser whether it listens already. */
  async begin(link) {
    this.key = this.endpoint = null;
    const {navigator, Notification, PushManager} = this.host;
    if (!navigator.serviceWorker || !Notification || !PushManager) return;
    const {publicKey} = await link.ask('push/key').catch(() => ({}));
    if (!publicKey) return;
    const registration = await navigator.serviceWorker.getRegistration(this.scope).catch(() => undefined);
    this.endpoint = (await registration?.pushManager.getSubscription().catch(() => null))?.endpoint ?? null;
    this.key = publicKey;
  }

  get scope() { return new URL('page/', this.base).href; }

  /** Whether this browser is notified of the matches of a subscription. */
  rings(subscription) {
    return this.endpoint !== null && (subscription.pushers ?? []).some((pusher) => pusher.webpush?.endpoint === this.endpoint);
  }

  /** Turns notifications of it on or off; returns the subscription as it is then. */
  async set(link, {id}, isWanted) {
    const own = isWanted ? await this.listen() : null;
    const {pushers = [], revision} = await link.ask('subscription/get', {id});
    const others = pushers.filter((pusher) => pusher.webpush?.endpoint !== this.endpoint);
    return link.ask('subscription/update', {id, revision, pushers: own ? [...others, {webpush: own}] : others});
  }

  async listen() {
    const {navigator, Notification} = this.host;
    if (await Notification.requestPermission() !== 'granted') {
      throw new Error('this browser shows no notifications of this page: allow them in its settings');
    }
    const registration = await navigator.serviceWorker.register(new URL('page/worker.mjs', this.base));
    await active(registration);
    const former = await registration.pushManager.getSubscription();
    // One of another daemon at this address takes no messages of ours.
    if (former && encode(former.options.applicationServerKey) !== this.key) await former.unsubscribe();
    const subscription = await registration.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: this.key});
    this.endpoint = subscription.endpoint;
    const {endpoint, keys} = subscription.toJSON();
    return {endpoint, keys};
  }
}

const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** Its worker runs: before, a browser takes no subscription. */
function active(registration) {
  if (registration.active) return null;
  const worker = registration.installing ?? registration.waiting;
  return new Promise((resolve, reject) => {
    const look = () => {
      if (worker.state === 'activated') resolve();
      else if (worker.state === 'redundant') reject(new Error('the page\'s worker did not start'));
    };
    worker.addEventListener('statechange', look);
    look();
  });
}
