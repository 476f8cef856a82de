// A stand-in for Apple's service, on a stack that is not ours: checks all that Apple checks, and plays failures by the token.
// Arguments: certificate, key, the provider's public key, team, key id, topic, and `old` for a server without HTTP/2. A line of JSON on
// standard output for each request.
import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';

const [certificate, key, provider, team, keyID, topic, kind] = process.argv.slice(2);
const publicKey = createPublicKey(readFileSync(provider));
const seen = new Map();
const tell = (line) => process.stdout.write(JSON.stringify(line) + '\n');

function check(headers, body) {
  const wrong = [];
  const expect = (is, what) => { if (!is) wrong.push(what); };
  expect(headers[':method'] === 'POST', 'method');
  expect(/^\/3\/device\/[A-Za-z0-9_-]+$/.test(headers[':path']), 'path');
  const known = ['authorization', 'apns-topic', 'apns-push-type', 'apns-priority', 'apns-expiration', 'apns-collapse-id', 'apns-id',
    'content-type', 'content-length'];
  for (const name of Object.keys(headers)) expect(name.startsWith(':') || known.includes(name), `header ${name}`);
  expect(headers['apns-topic'] === topic, 'topic');
  expect(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(headers['apns-id']), 'id');
  expect(Buffer.byteLength(headers['apns-collapse-id'] ?? '') <= 64, 'collapse id');
  expect(Number(headers['apns-expiration']) > Date.now() / 1000, 'expiration');
  const [head, claims, signature] = (headers.authorization ?? '').replace(/^bearer /, '').split('.');
  const read = (part) => JSON.parse(Buffer.from(part, 'base64url'));
  expect(verify('sha256', `${head}.${claims}`, { key: publicKey, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')), 'signature');
  expect(read(head).alg === 'ES256' && read(head).kid === keyID, 'head of the token');
  expect(read(claims).iss === team && Math.abs(Date.now() / 1000 - read(claims).iat) < 3600, 'claims of the token');
  expect(body.length <= 4096, 'size');
  const content = JSON.parse(body);
  const type = content.aps.alert ? 'alert' : 'background';
  expect(headers['apns-push-type'] === type, 'type');
  expect(type === 'alert' ? ['10', '5', '1'].includes(headers['apns-priority']) : headers['apns-priority'] === '5', 'priority');
  expect(type === 'alert' || content.aps['content-available'] === 1, 'content-available');
  return { wrong, content };
}

const options = { cert: readFileSync(certificate), key: readFileSync(key) };
const server = kind === 'old' ? https.createServer(options, (request, response) => response.end())
  : http2.createSecureServer({ ...options, settings: { maxConcurrentStreams: 20 } });
let sessions = 0;
server.on('session', (session) => { session.number = ++sessions; });
server.on('sessionError', () => {});
server.on('stream', (stream, headers) => {
  const parts = [];
  stream.on('error', () => {});
  stream.on('data', (part) => parts.push(part));
  stream.on('end', () => {
    const token = headers[':path'].split('/').pop();
    const authorization = headers.authorization;
    const count = (seen.get(token) ?? 0) + 1;
    seen.set(token, count);
    let result;
    try { result = check(headers, Buffer.concat(parts)); } catch (error) { result = { wrong: [String(error)] }; }
    tell({ token, session: stream.session?.number, authorization, id: headers['apns-id'], ...result });
    const answer = (status, reason, more = {}) => {
      if (stream.destroyed) return; // With its session, before.
      stream.respond({ ':status': status, 'apns-id': headers['apns-id'], ...more });
      stream.end(reason ? JSON.stringify({ reason }) : '');
    };
    if (result.wrong.length > 0) return answer(400, 'BadCheck');
    const status = /^status-(\d+)-(\w+)$/.exec(token);
    if (status) return answer(Number(status[1]), status[2], status[1] === '503' ? { 'retry-after': '7' } : {});
    switch (token) {
      case 'expired-once': return count === 1 ? answer(403, 'ExpiredProviderToken') : answer(200);
      case 'silence': return;
      case 'goaway': stream.session.goaway(0); return answer(200);
      case 'reset': return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      case 'cut': return stream.session.destroy();
      case 'flood': {
        stream.respond({ ':status': 500 });
        const more = () => { while (!stream.destroyed && stream.write(Buffer.alloc(65536))); };
        stream.on('drain', more);
        return more();
      }
      default: return answer(200);
    }
  });
});
server.listen(0, '127.0.0.1', () => tell({ port: server.address().port }));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
