// The parts of the page that need no browser.

import test from 'node:test';
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

const page = (name) => import(new URL(`../../Sources/HTTPDoor/Page/Files/${name}.mjs`, import.meta.url));
const {parseView, formatView, parseOptions} = await page('view');
const geometry = await page('geometry');
const {Model, limits, staleAfter} = await page('model');
const {Link, pingEvery, answerWithin} = await page('link');
const {ThreadSocket} = await page('socket');
const {pairsOf, whyNone} = await page('explain');
const text = await page('text');
const {fills} = await page('draw');

const position = (id, latitude, longitude, more = {}) => ({
  topic: `d/-/-/-/-/${id}/position`, itemId: id, timestamp: 1000, ...more, properties: {latitude, longitude, ...more.properties},
});

test('the view stands in the address and is read back', () => {
  for (const view of [{dataset: 'demo', zoom: 18.5, lat: 43.7300123, lon: -7.42, floor: '1'}, {dataset: 'a b/ä', zoom: 0, lat: -85, lon: 179.5, floor: 'Erd/geschoß'}]) {
    const read = parseView(formatView(view));
    assert.equal(read.dataset, view.dataset);
    assert.equal(read.floor, view.floor);
    assert.ok(Math.abs(read.lat - view.lat) < 0.01 && Math.abs(read.lon - view.lon) < 0.01 && read.zoom === view.zoom);
  }
  assert.deepEqual(parseView('#demo'), {dataset: 'demo', zoom: null, lat: null, lon: null, floor: null});
  assert.equal(parseView('#demo/18/43.73/7.42').floor, null);
  for (const wrong of ['#demo/x/1/2', '#demo/3/91/0', '#demo/3//', '#demo/%E0%A4%A']) assert.equal(parseView(wrong).zoom, null);
  assert.equal(parseView('').dataset, null);
  assert.deepEqual(parseOptions('?kiosk&client=ann'), {client: 'ann', kiosk: true});
});

test('the world is a square, there and back, at any latitude', () => {
  for (const [latitude, longitude] of [[0, 0], [43.73, 7.42], [-85, -180], [85, 179.9]]) {
    assert.ok(Math.abs(geometry.latitudeOf(geometry.worldY(latitude)) - latitude) < 1e-9);
    assert.ok(Math.abs(geometry.longitudeOf(geometry.worldX(longitude)) - longitude) < 1e-9);
  }
  assert.ok(Number.isFinite(geometry.worldY(90)) && Number.isFinite(geometry.worldY(-90)));
});

test('an outline across the antimeridian stays in one piece, and at a pole it is drawn', () => {
  const rings = geometry.worldRings({type: 'Polygon', coordinates: [[[179, 0], [-179, 0], [-179, 1], [179, 1], [179, 0]]]});
  const [west, , east] = geometry.boxOf(rings);
  assert.ok(east - west < 0.01, `${east - west}`);
  assert.ok(geometry.contains(rings, geometry.worldX(179.5), geometry.worldY(0.5)));
  const cap = geometry.worldRings({type: 'Polygon', coordinates: [[[-180, 80], [0, 80], [180, 80], [180, 90], [-180, 90], [-180, 80]]]});
  assert.ok(cap[0].every(Number.isFinite));
});

test('the box of a view goes round the antimeridian, and is the world where it holds it', () => {
  const [west, , east] = geometry.bbox([geometry.worldX(179), 0.4, geometry.worldX(181), 0.6]);
  assert.ok(west === 179 && east === -179, `${west} ${east}`);
  const world = geometry.bbox([-0.2, 0, 1.1, 1], 0.1);
  assert.deepEqual(world, [-180, -90, 180, 90]);
});

test('lengths and lines are round figures', () => {
  assert.equal(geometry.roundDown(7.3), 5);
  assert.equal(geometry.roundDown(0.011), 0.01);
  assert.equal(geometry.roundDown(2000), 2000);
  assert.equal(geometry.graticuleStep(100), 30);
  assert.equal(geometry.graticuleStep(3), 5);
  assert.ok(Math.abs(geometry.graticuleStep(0.003) - 0.005) < 1e-9);
  assert.equal(text.metres(1234), '1.2 km');
});

test('names have room: none lies over another at any scale, and one that is shown stays when one comes nearer', () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const labels = Array.from({length: 120}, () => ({x: random(), y: random(), box: [-5, -9, 10 + 90 * random(), 9]}));
  labels.push({...labels[0]});
  const from = geometry.labelScales(labels);
  assert.ok(from[0] === 0 && from.at(-1) === Infinity, 'the first is always shown, one at the same point never');
  let shownBefore = 0;
  for (const scale of [100, 300, 1000, 3000, 10000, 100000]) {
    const boxes = labels.flatMap(({x, y, box}, i) => (scale >= from[i] ? [box.map((side, n) => side + scale * (n % 2 ? y : x))] : []));
    boxes.forEach((box, i) => boxes.slice(0, i).forEach((other) => assert.ok(!geometry.overlaps(box, other), `at ${scale}`)));
    assert.ok(boxes.length >= shownBefore);
    shownBefore = boxes.length;
  }
  assert.ok(shownBefore > 100);
});

test('matches and selections can be told from all else, in both schemes and without seeing all colours', () => {
  const css = readFileSync(new URL('../../Sources/HTTPDoor/Page/Files/style.css', import.meta.url), 'utf8');
  const blocks = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, block]) => Object.fromEntries([...block.matchAll(/--(\w+): (#\w+)/g)].map(([, key, value]) => [key, value])));
  const linear = (colour) => {
    const digits = colour.length === 4 ? [...colour.slice(1)].map((d) => d + d) : colour.slice(1).match(/../g);
    return digits.map((d) => parseInt(d, 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  };
  // Machado, Oliveira and Fernandes 2009, severity 1: as all see it, and without one of the three kinds of cones.
  const eyes = {
    all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
  };
  for (const [scheme, colours] of [['light', blocks[0]], ['dark', {...blocks[0], ...blocks[1]}]]) {
    for (const [kind, matrix] of Object.entries(eyes)) {
      const light = (colour) => {
        const seen = matrix.map((row) => row.reduce((sum, k, i) => sum + k * linear(colour)[i], 0)).map((v) => Math.min(1, Math.max(0, v)));
        return 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2];
      };
      const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
      const {match, select} = colours;
      const others = [...['back', 'surface', 'line', 'soft', 'accent', 'stale', 'place', 'ink'].map((key) => colours[key]), ...fills[scheme]];
      for (const [name, mark, casing] of [['match', match, colours.edge], ['select', select, colours.casing]]) {
        assert.ok(contrast(mark, casing) >= 3, `${scheme}, ${kind}: ${name} in its casing ${contrast(mark, casing)}`);
        // Each edge of a mark is seen: where the casing is as what lies below it, the mark is not.
        for (const other of others) assert.ok(Math.max(contrast(mark, other), contrast(casing, other)) >= 3, `${scheme}, ${kind}: ${name} over ${other}`);
      }
      assert.ok(contrast(match, select) >= 3, `${scheme}, ${kind}: a match and a selection ${contrast(match, select)}`);
    }
  }
});

test('holes are outside', () => {
  const square = (a, b) => [[a, a], [b, a], [b, b], [a, b], [a, a]];
  const rings = geometry.worldRings({type: 'Polygon', coordinates: [square(0, 10), square(4, 6)]});
  assert.ok(geometry.contains(rings, geometry.worldX(1), geometry.worldY(1)));
  assert.ok(!geometry.contains(rings, geometry.worldX(5), geometry.worldY(5)));
});

test('what enters appears, what leaves goes, and one that moved to another topic stays', () => {
  const model = new Model();
  model.apply(position('a', 1, 2));
  assert.equal(model.devices.get('a').latitude, 1);
  model.apply({...position('a', 1, 2), topic: 'd/v/b/1/r/a/position'});
  model.apply({...position('a', 1, 2), left: true});
  assert.ok(model.devices.has('a'), 'the former topic left');
  model.apply({...position('a', 1, 2), topic: 'd/v/b/1/r/a/position', left: true});
  assert.ok(!model.devices.has('a'));
});

test('a gateway is one, whichever comes first, its position or what it sights', () => {
  const model = new Model();
  const sighting = (id) => ({topic: `d/-/-/-/-/${id}/proximity`, itemId: id, timestamp: 1000, properties: {beacons: []}});
  model.apply(position('early', 1, 2));
  for (const id of ['early', 'late']) model.apply(sighting(id));
  model.apply(position('late', 1, 2));
  model.apply(position('phone', 1, 2));
  assert.deepEqual([...model.devices.values()].filter(({isGateway}) => isGateway).map(({id}) => id), ['early', 'late']);
});

test('what a new view does not say again is dropped', () => {
  const model = new Model();
  model.beginView();
  model.apply(position('gone', 1, 2));
  model.apply(position('here', 1, 2));
  model.beginView();
  model.apply(position('here', 1, 2));
  model.prune();
  assert.deepEqual([...model.devices.keys()], ['here']);
});

test('nothing grows without bound', () => {
  const model = new Model();
  for (let n = 0; n < limits.devices + 10; n++) model.apply(position(`d${n}`, 1, 2));
  assert.equal(model.devices.size, limits.devices);
  assert.equal(model.omitted, 10);
  for (let n = 0; n < 500; n++) {
    model.applyMatch({id: `m${n}`, createdAt: n, publication: {}, subscription: {}}, n);
    model.applyDiagnostic('update', {topic: 't'}, n);
    model.apply({...position('d1', 1, 2 + n / 1000), timestamp: n * 5000});
  }
  assert.equal(model.matches.length, limits.list);
  assert.equal(model.diagnostics.length, limits.list);
  assert.equal(model.devices.get('d1').trailLength, limits.trail);
  for (let n = 0; n < 3000; n++) model.isNew(`x${n}`);
  assert.ok(model.seen.size <= 1000);
});

test('a match that comes twice is one, and one that is old is no news', () => {
  const model = new Model();
  const match = {id: 'm', createdAt: 100000, publication: {}, subscription: {}};
  model.applyMatch(match, 100500);
  model.applyMatch(match, 100600);
  model.applyMatch({...match, id: 'old', createdAt: 1}, 100600);
  assert.equal(model.matches.length, 2);
  assert.deepEqual(model.freshMatches(101000).map((m) => m.id), ['m']);
  assert.deepEqual(model.freshMatches(111000), []);
});

test('a circumstance is shown where it occurs for as long as a match is, and one that could not be evaluated is not', () => {
  const model = new Model();
  const event = {incidentId: 'i', deviceId: 'a', name: 'Left home', timestamp: 100000};
  model.applyCircumstance(event, 100500);
  model.applyCircumstance(event, 100600);
  model.applyCircumstance({...event, incidentId: 'old', timestamp: 1}, 100600);
  model.applyCircumstance({...event, incidentId: 'bad', error: {message: 'none'}}, 100600);
  assert.equal(model.circumstances.length, 3);
  assert.deepEqual(model.freshCircumstances(101000).map(({incidentId}) => incidentId), ['i']);
  assert.deepEqual(model.freshCircumstances(111000), []);
});

test('old positions are known to be old, but a pin stays where it is', () => {
  const model = new Model();
  model.types.set('pin', 'PinDevice');
  for (const id of ['phone', 'pin']) model.apply(position(id, 1, 2));
  const later = 1001 + staleAfter.device;
  assert.ok(model.isStale(model.devices.get('phone'), later) && !model.isStale(model.devices.get('pin'), later));
});

test('rooms have figures, of the floor that is looked at', () => {
  const model = new Model();
  const parents = {venue: 'v', building: 'b'};
  model.setStructure([
    {level: 'floor', id: 'basement', parents, floorIndex: -1}, {level: 'floor', id: 'ground', parents, floorIndex: 0}, {level: 'floor', id: 'top', parents, floorIndex: 1},
    {level: 'room', id: 'r/1', name: 'One', capacity: 4, parents: {...parents, floor: 'top'}, outline: {type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}},
  ]);
  assert.deepEqual(model.floorChoices().map((floor) => floor.id), ['top', 'ground', 'basement']);
  assert.equal(model.floor(null).id, 'ground');
  assert.equal(model.floor('no such').id, 'ground');
  const top = model.floor('top');
  const [room] = model.roomsOn(top);
  assert.deepEqual(model.roomsOn(model.floor('ground')), []);
  model.apply({topic: 'd/v/b/top/r%2F1/-/occupancy', itemId: 'r/1', timestamp: 1000, properties: {nrOfPeople: 3}});
  assert.deepEqual(model.occupancy(room, 2000), {people: 3, capacity: 4, at: 1000, isStale: false});
  assert.ok(model.occupancy(room, 1001 + staleAfter.room).isStale);
  assert.equal(model.roomAt(geometry.worldX(0.5), geometry.worldY(0.5), top), room);
  assert.ok(model.isOn(top, null, 1) && !model.isOn(top, 'top', 0) && model.isOn(top, null, undefined) && !model.isOn(top, 'ground', undefined));
  model.apply({topic: 'd/v/b/top/r%2F1/-/occupancy', left: true, properties: {}});
  assert.equal(model.occupancy(room, 2000), null);
});

test('rooms are listed by floor, from the top down, and by name as people count', () => {
  const model = new Model();
  const room = (id, floor, name) => ({level: 'room', id, name, parents: {venue: 'v', building: 'b', ...(floor ? {floor} : {})}});
  const parents = {venue: 'v', building: 'b'};
  model.setStructure([
    room('r10', 'ground', 'Room 10'), room('r2', 'ground', 'Room 2'), room('x', 'top'), room('shed', null),
    {level: 'venue', id: 'v', name: 'Site', parents: {}}, {level: 'building', id: 'b', parents: {venue: 'v'}},
    {level: 'floor', id: 'ground', parents, floorIndex: 0}, {level: 'floor', id: 'top', name: 'Roof', parents, floorIndex: 1},
  ]);
  const groups = model.byFloor([...model.rooms.values()]);
  assert.deepEqual(groups.map(({title, rooms}) => [title, rooms.map(({id}) => id)]), [
    ['Site, b, floor Roof', ['x']], ['Site, b, floor ground', ['r2', 'r10']], ['Site, b, no floor', ['shed']],
  ]);
});

test('search finds ids and names, those that begin with it first', () => {
  const model = new Model();
  for (const id of ['my-phone', 'phone', 'tag']) model.apply(position(id, 1, 2));
  model.places = [{id: 'p', name: 'Phone shop', x: 0, y: 0, rings: []}];
  assert.deepEqual(model.search('PHO').map((found) => found.label), ['Phone shop', 'phone', 'my-phone']);
  assert.deepEqual(model.search(' '), []);
});

test('the pairs to explain go both ways, equal topics first', () => {
  const a = {id: 'a', publications: [{id: 'p', topic: 't'}], subscriptions: [{id: 's', topic: 'u'}]};
  const b = {id: 'b', publications: [{id: 'q', topic: 'x'}], subscriptions: [{id: 'z', topic: 't'}]};
  const {pairs, total} = pairsOf(a, b);
  assert.equal(total, 2);
  assert.deepEqual([pairs[0].publication.id, pairs[0].subscription.id, pairs[1].publication.id], ['p', 'z', 'q']);
  assert.match(whyNone({id: 'a', publications: [], subscriptions: []}, b), /a has 0 publications and 0 subscriptions that you may see/);
});

test('ages, counts and values read well; long text is cut between characters', () => {
  assert.equal(text.age(61000), '1 min');
  assert.equal(text.count(1234567), '1,234,567');
  assert.equal(text.plain({a: [1, 2.123456789]}), 'a 1, 2.1234568');
  assert.equal(text.short('😀😀😀😀', 3), '😀😀…');
});

/** A world with a clock of its own, for the connection. */
class World {
  constructor(answers = []) {
    Object.assign(this, {answers, clock: 0, timers: [], sockets: [], states: [], messages: [], asked: []});
    const world = this;
    this.host = {
      random: () => 0.5, now: () => world.clock,
      fetch: async (url, init) => {
        world.asked.push({url: String(url), headers: init.headers});
        const answer = world.answers.length > 1 ? world.answers.shift() : world.answers[0] ?? {status: 200};
        if (!answer.status) throw new Error('refused');
        return {status: answer.status, json: async () => answer.body ?? {}};
      },
      WebSocket: class { constructor(url) { this.url = url; this.sent = []; world.sockets.push(this); } send(data) { this.sent.push(JSON.parse(data)); } close() { this.isClosed = true; } },
      every: (ms, f) => world.timer(ms, f, true), after: (ms, f) => world.timer(ms, f, false),
    };
    this.listener = {changed: (state) => this.states.push(state.name), opened: (dataset) => { this.opened = (this.opened ?? 0) + 1; this.dataset = dataset; }, message: (topic) => this.messages.push(topic)};
  }

  timer(ms, f, repeats) {
    const timer = {at: this.clock + ms, ms, f, repeats};
    this.timers.push(timer);
    return () => { this.timers = this.timers.filter((other) => other !== timer); };
  }

  async pass(ms) {
    const end = this.clock + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.clock = next.at;
      if (next.repeats) next.at += next.ms;
      else this.timers = this.timers.filter((timer) => timer !== next);
      next.f();
    }
    this.clock = end;
  }

  async link(options = {}) {
    const link = new Link(new URL('http://localhost:8080/'), {dataset: 'd', ...options}, this.host, this.listener);
    await this.pass(0);
    return link;
  }
}

test('a connection that is lost is made again, and everything is asked anew', async () => {
  const world = new World();
  await world.link({client: 'ann'});
  assert.equal(world.sockets[0].url, 'ws://localhost:8080/api/d/socket?client=ann');
  assert.equal(world.asked[0].headers['Geomatch-Client'], 'ann');
  world.sockets[0].onopen();
  assert.deepEqual([world.states, world.opened], [['online'], 1]);
  world.sockets[0].onclose({code: 1001});
  assert.equal(world.states.at(-1), 'lost');
  await world.pass(1000);
  world.sockets[1].onopen();
  assert.deepEqual([world.states.at(-1), world.opened], ['online', 2]);
});

test('what the daemon said of the dataset before the connection is not asked for again', async () => {
  const world = new World([{status: 200, body: {result: {counts: {devices: 3}}}}]);
  await world.link();
  world.sockets[0].onopen();
  assert.deepEqual([world.dataset, world.sockets[0].sent], [{counts: {devices: 3}}, []]);
});

test('a daemon that hangs is given up within 45 seconds, and one that answers is not', async () => {
  const world = new World();
  const link = await world.link();
  const socket = world.sockets[0];
  socket.onopen();
  for (let n = 0; n < 60; n++) {
    await world.pass(1000);
    const ping = socket.sent.shift();
    if (ping) socket.onmessage({data: JSON.stringify({requestId: ping.requestId, result: {}})});
  }
  assert.equal(world.states.at(-1), 'online');
  await world.pass(pingEvery + answerWithin + 3000);
  assert.equal(world.states.at(-1), 'lost');
  assert.ok(socket.isClosed && pingEvery + answerWithin < 40000);
  link.close();
});

test('a machine that slept does not take the daemon for dead', async () => {
  const world = new World();
  await world.link();
  world.sockets[0].onopen();
  world.clock += 3600e3;
  for (const timer of world.timers) timer.at = world.clock;
  await world.pass(0);
  assert.equal(world.states.at(-1), 'online');
});

test('what a daemon was heard last is known after a sleep, also where it is gone by then', async () => {
  const world = new World();
  const link = await world.link();
  const socket = world.sockets[0];
  socket.onopen();
  await world.pass(3000);
  const heardAt = world.clock;
  socket.onmessage({data: '{}'});
  await world.pass(2000);
  let jumps = 0;
  world.listener.jumped = () => jumps++;
  world.clock += 3600e3;
  for (const timer of world.timers) timer.at = world.clock;
  await world.pass(0);
  assert.deepEqual([world.states.at(-1), jumps], ['online', 1]);
  // It is asked at once.
  assert.equal(socket.sent.at(-1).request, 'dataset/get');
  await world.pass(pingEvery + answerWithin + 2000);
  assert.deepEqual([world.states.at(-1), link.heardAt], ['lost', heardAt]);
  link.close();
});

test('a request that is open while the machine sleeps is waited for, and a clock set back is no sleep without end', async () => {
  const world = new World();
  const link = await world.link();
  const socket = world.sockets[0];
  socket.onopen();
  link.ask('device/get', {id: 'x'}).catch(() => {});
  world.clock += 3600e3;
  for (const timer of world.timers) timer.at = world.clock;
  await world.pass(1000);
  assert.equal(world.states.at(-1), 'online');
  world.clock -= 7200e3;
  for (const timer of world.timers) timer.at = world.clock;
  await world.pass(0);
  assert.ok(link.heardAt <= world.clock);
  await world.pass(2 * answerWithin + pingEvery + 4000);
  assert.equal(world.states.at(-1), 'lost');
  link.close();
});

test('a socket that never opens, and a daemon that refuses, are tried again', async () => {
  const world = new World([{status: 0}, {status: 503, body: {error: {message: 'too many'}}}, {status: 200}]);
  await world.link();
  assert.equal(world.states.at(-1), 'lost');
  await world.pass(5000);
  assert.equal(world.sockets.length, 1);
  await world.pass(answerWithin + 10000);
  assert.ok(world.sockets.length >= 2);
});

test('a wrong key is said to be one, and goes in no request but to the daemon', async () => {
  const world = new World([{status: 401, body: {error: {message: 'the key is unknown'}}}]);
  await world.link({key: 'secret'});
  assert.deepEqual([world.states, world.asked[0].headers.Authorization, world.sockets.length], [['key'], 'Bearer secret', 0]);
  assert.ok(!world.asked[0].url.includes('secret'));
});

test('a key that is deleted while looking is asked for anew', async () => {
  const world = new World([{status: 200}, {status: 401, body: {error: {message: 'the key was deleted'}}}]);
  await world.link({key: 'secret'});
  world.sockets[0].onopen();
  world.sockets[0].onclose({code: 1008});
  await world.pass(3000);
  assert.equal(world.states.at(-1), 'key');
});

test('what may not be seen, and what does not exist, are said', async () => {
  const denied = new World([{status: 403, body: {error: {message: 'the key is for another'}}}]);
  await denied.link();
  assert.deepEqual(denied.states, ['denied']);
  const missing = new World([{status: 404, body: {error: {message: 'no dataset'}}}, {status: 200}]);
  await missing.link();
  assert.deepEqual(missing.states, ['missing']);
  await missing.pass(2000);
  assert.equal(missing.sockets.length, 1);
});

test('requests have ids that no other page has, and are refused when the connection is lost', async () => {
  const world = new World();
  const link = await world.link();
  world.sockets[0].onopen();
  const asked = link.ask('device/get', {id: 'x'});
  const {requestId} = world.sockets[0].sent[0];
  world.sockets[0].onmessage({data: JSON.stringify({requestId, error: {code: 404, error: 'notFound', message: 'none'}})});
  await assert.rejects(asked, {message: 'none', code: 404});
  const open = link.ask('device/get', {id: 'y'});
  world.sockets[0].onclose({code: 1006});
  await assert.rejects(open, /lost/);
  assert.match(requestId, /^[0-9a-z]{8,}-1$/);
  world.sockets[0].onmessage?.({data: JSON.stringify({topic: 'late', payload: {}})});
  assert.deepEqual(world.messages, []);
});

test('what a socket of a thread of its own gathers comes message by message, in order', (t) => {
  const workers = [];
  globalThis.Worker = class { constructor() { this.posted = []; workers.push(this); } postMessage(message) { this.posted.push(message); } terminate() { this.isOver = true; } };
  t.after(() => { delete globalThis.Worker; });
  const socket = new ThreadSocket('ws://here/');
  const heard = [];
  socket.onopen = () => heard.push('open');
  socket.onmessage = ({data}) => heard.push(data);
  socket.onclose = ({code}) => heard.push(code);
  socket.send('ask');
  const [worker] = workers;
  assert.deepEqual(worker.posted, [{kind: 'open', data: 'ws://here/'}, {kind: 'send', data: 'ask'}]);
  for (const data of [{kind: 'open'}, {kind: 'messages', data: ['1', '2']}, {kind: 'messages', data: ['3']}, {kind: 'close', data: 1001}]) worker.onmessage({data});
  worker.onerror();
  assert.deepEqual(heard, ['open', '1', '2', '3', 1001, 1006]);
  socket.close();
  assert.ok(worker.isOver);
});
