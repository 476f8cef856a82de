// A WebSocket of a thread of its own: what comes within a moment comes to the page at once. Each message is an event, which takes
// longer than to read it: thousands a second would leave the page no time to draw.

const gatheredFor = 15;

if (typeof WorkerGlobalScope !== 'undefined' && self instanceof WorkerGlobalScope) {
  let socket, waiting = null;
  const flush = () => {
    if (waiting) postMessage({kind: 'messages', data: waiting});
    waiting = null;
  };
  self.onmessage = ({data: {kind, data}}) => {
    if (kind === 'open') {
      socket = new WebSocket(data);
      socket.onopen = () => postMessage({kind: 'open'});
      socket.onmessage = ({data}) => {
        if (waiting) return void waiting.push(data);
        waiting = [data];
        setTimeout(flush, gatheredFor);
      };
      socket.onclose = ({code}) => {
        flush();
        postMessage({kind: 'close', data: code});
      };
    } else if (kind === 'send') socket.send(data);
  };
}

/** As much of a WebSocket as the connection needs. */
export class ThreadSocket {
  constructor(url) {
    this.worker = new Worker(new URL(import.meta.url), {type: 'module'});
    this.worker.onmessage = ({data: {kind, data}}) => {
      if (kind === 'messages') for (const text of data) this.onmessage?.({data: text});
      else if (kind === 'open') this.onopen?.();
      else this.onclose?.({code: data});
    };
    // Where it cannot be read, the daemon is gone.
    this.worker.onerror = () => this.onclose?.({code: 1006});
    this.post('open', url);
  }

  post(kind, data) { this.worker.postMessage({kind, data}); }
  send(data) { this.post('send', data); }
  close() { this.worker.terminate(); }
}
