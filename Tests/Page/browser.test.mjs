// The page as people see it: a daemon, and a real Chromium.

import test from 'node:test';
import assert from 'node:assert/strict';
import {Browser} from './support/browser.mjs';
import {Daemon, sleep} from './support/daemon.mjs';
import {build, at} from './support/house.mjs';

let daemon, browser;
const options = {timeout: 40000};

test.before(async () => {
  [daemon, browser] = await Promise.all([Daemon.start(['--datasets', 'demo,empty']), Browser.start()]);
  await build(daemon);
}, {timeout: 60000});
test.after(async () => {
  await browser?.close();
  await daemon?.end();
}, {timeout: 20000});

/** A tab with the page, when it is online. */
async function open(t, hash = '#demo', {search = '?client=me', wait = true, ...look} = {}) {
  const page = await browser.open(`${daemon.url}${search}${hash}`, look);
  t.after(() => page.close());
  if (wait) await page.until("document.getElementById('status').className === 'online' && geomatch.model.generation > 0", 15000);
  return page;
}

const move = (id, x, y, more = {}) => daemon.publish({[`-/-/-/-/${id}/position`]: {...at(x, y), horizontalAccuracy: 2, ...more}});

test('devices appear where they are and move, without a request to any other host', options, async (t) => {
  await move('phone', 25, 25);
  const page = await open(t);
  await page.until("geomatch.drawing.shown?.some((d) => d.id === 'phone')");
  const before = await page.placeOf('phone');
  await move('phone', 35, 25);
  await page.until(`geomatch.drawing.shown.find((d) => d.id === 'phone').px + document.getElementById('map').getBoundingClientRect().left > ${before[0] + 20}`);
  assert.ok(page.requests.every((url) => url.startsWith(daemon.url) || url.startsWith('data:')), page.requests.join());
  assert.deepEqual(page.problems, []);
  assert.ok(page.received > 5000 && page.received <= 60 * 1024 + 20000, `${page.received} bytes with data`);
});

test('a page that was slow to begin asked for the whole world before it showed the building', options, async (t) => {
  await move('phone', 25, 25);
  // The map rests while the structure is read: here at any time.
  const page = await open(t, '#demo', {script: 'setInterval(() => globalThis.geomatch?.link?.isOnline && geomatch.map.listener.rested())'});
  await page.until("geomatch.drawing.shown?.some((d) => d.id === 'phone')");
  assert.equal(await page.evaluate('geomatch.model.generation'), 1);
  assert.ok(await page.evaluate('geomatch.map.zoom') > 15);
});

test('the first picture is there within a second', options, async (t) => {
  const page = await open(t);
  const paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
  t.diagnostic(`first contentful paint after ${Math.round(paint)} ms`);
  assert.ok(paint < (process.env.GEOMATCH_TEST_ALL ? 1000 : 5000), `${paint} ms`);
});

test('rooms show how many are in them, on the floor that is chosen, which stands in the address', options, async (t) => {
  await daemon.publish({'v/h/0/a/-/occupancy': {nrOfPeople: 3}, 'v/h/1/b/-/occupancy': {nrOfPeople: 4}});
  const page = await open(t);
  await page.until("geomatch.model.figures.get('v/h/0/a')?.people === 3");
  await page.until("document.getElementById('floor').value === '0'");
  await page.evaluate("(() => { const floor = document.getElementById('floor'); floor.value = '1'; floor.dispatchEvent(new Event('change')); })()");
  await page.until("location.hash.endsWith('/1')");
  const again = await open(t, await page.evaluate('location.hash'));
  await again.until("document.getElementById('floor').value === '1'");
});

test('a match is a line and stands in the list; a click on a device shows it, a second one explains', options, async (t) => {
  await move('phone', 25, 25);
  const page = await open(t);
  await page.until("geomatch.drawing.shown?.some((d) => d.id === 'cafe') && geomatch.drawing.shown.some((d) => d.id === 'phone')");
  await move('phone', 9, 5);
  await page.until("document.getElementById('matches').innerText.includes('phone')");
  assert.equal(await page.evaluate('geomatch.model.freshMatches(Date.now()).length'), 1);
  await page.until("geomatch.model.devices.get('phone').properties.latitude < 43.7301");
  await sleep(200);
  await page.click(...(await page.placeOf('cafe')));
  await page.until("document.getElementById('details').innerText.includes('PinDevice') && document.getElementById('details').innerText.includes('coffee')");
  await page.click(...(await page.placeOf('phone')), 8);
  await page.until("/Would (not )?match now/.test(document.getElementById('details').innerText)");
  assert.match(await page.text('#details'), /selector/);
  await page.key('Escape');
  await page.until("document.getElementById('details').innerText === ''");
});

test('details follow what they show, and a button in them keeps the focus', options, async (t) => {
  await move('phone', 25, 25);
  await daemon.publish({'v/h/0/a/-/occupancy': {nrOfPeople: 3}});
  const page = await open(t);
  await page.until("geomatch.drawing.shown?.some((d) => d.id === 'phone')");
  await page.click(...(await page.placeOf('phone')));
  const shows = (text) => page.until(`document.getElementById('details').innerText.includes(${JSON.stringify(text)})`);
  const longitude = (x) => String(Math.round(at(x, 25).longitude * 1e7) / 1e7);
  await shows(longitude(25));
  await move('phone', 30, 25);
  await shows(longitude(30));
  await page.evaluate("(() => { document.getElementById('query').value = 'Room a0'; document.getElementById('query').dispatchEvent(new Event('input')); [...document.querySelectorAll('#found button')].find((b) => b.innerText.endsWith('room')).click(); })()");
  await shows('3');
  await page.until("[...document.querySelectorAll('#details button')].length > 0");
  await page.evaluate("document.querySelector('#details button').focus()");
  await daemon.publish({'v/h/0/a/-/occupancy': {nrOfPeople: 5}});
  await shows('5');
  assert.equal(await page.evaluate("document.activeElement.closest('#details')?.id"), 'details');
});

test('a device shows which geofences hold it, and no more when it left', options, async (t) => {
  t.after(() => daemon.ask('geofence/delete', {id: 'garden'}));
  await daemon.ask('geofence/create', {id: 'garden', area: {circle: {...at(25, 25), radius: 8}}, accuracy: 'centre', exitMargin: 0});
  await move('phone', 25, 25);
  const page = await open(t);
  await page.until("geomatch.drawing.shown?.some((d) => d.id === 'phone')");
  await page.until("[...geomatch.model.states.keys()].some((topic) => topic.endsWith('/phone/presence'))");
  await page.click(...(await page.placeOf('phone')));
  await page.until("/presence[^]*garden/.test(document.getElementById('details').innerText)");
  await page.key('Escape');
  await move('phone', 5, 25);
  await page.until("[...geomatch.model.states.values()].some(({update}) => update.topic.endsWith('/phone/presence') && update.properties.geofence === null)");
});

test('an administrator sees the matches of all', options, async (t) => {
  await move('phone', 25, 25);
  const page = await open(t, '#demo', {search: '?client=admin'});
  await page.until("document.getElementById('matchScope').innerText === 'Of all clients of the dataset.'");
  await move('phone', 8, 5);
  await page.until("document.getElementById('matches').innerText.includes('cafe')");
});

test('the table shows the same, and is worked with keys alone', options, async (t) => {
  await move('phone', 25, 25);
  const page = await open(t);
  await page.evaluate("document.getElementById('tables').focus()");
  await page.key('Enter', 'Enter', '\r');
  await page.until("!document.getElementById('table').hidden && document.getElementById('table').innerText.includes('phone')");
  await page.evaluate("[...document.querySelectorAll('#table th button')].find((b) => b.textContent === 'phone').focus()");
  await page.key('Enter', 'Enter', '\r');
  await page.until("document.getElementById('details').innerText.includes('thirsty')");
  const names = async () => (await page.send('Accessibility.getFullAXTree')).nodes.map((node) => `${node.role?.value} ${node.name?.value}`);
  const shown = await names();
  for (const wanted of ['table Devices', 'table Rooms', 'button Table', 'searchbox Search by id']) assert.ok(shown.includes(wanted), wanted);
  // What lies below the table is not in the way.
  assert.ok(!shown.includes('button Zoom in'));
  await page.key('Escape');
  await page.until("document.getElementById('table').hidden && document.activeElement.id === 'tables'");
  assert.ok((await names()).includes('button Zoom in'));
});

test('what leaves the view goes, and what enters it appears', options, async (t) => {
  await move('far', 2000, 0);
  await move('phone', 25, 25);
  const {latitude, longitude} = at(25, 25);
  const page = await open(t, `#demo/18/${latitude}/${longitude}`);
  await page.until("geomatch.model.devices.has('phone')");
  assert.ok(!(await page.evaluate("geomatch.model.devices.has('far')")));
  await page.evaluate(`location.hash = '#demo/18/${at(2000, 0).latitude}/${at(2000, 0).longitude}'`);
  await page.until("geomatch.model.devices.has('far') && !geomatch.model.devices.has('phone')", 9000);
});

test('an address that is entered as the map comes to rest is not overwritten', options, async (t) => {
  await move('far', 2000, 0);
  const {latitude, longitude} = at(25, 25);
  const page = await open(t, `#demo/18/${latitude}/${longitude}`);
  await page.evaluate(`(() => { location.hash = '#demo/18/${at(2000, 0).latitude}/${at(2000, 0).longitude}'; geomatch.map.listener.rested(); })()`);
  await page.until("geomatch.model.devices.has('far')");
});

test('search finds what is not in view', options, async (t) => {
  await move('far', 2000, 0);
  const {latitude, longitude} = at(25, 25);
  const page = await open(t, `#demo/18/${latitude}/${longitude}`);
  await page.evaluate("(() => { const query = document.getElementById('query'); query.value = 'far'; query.form.requestSubmit(); })()");
  await page.until("document.getElementById('details').innerText.includes('far') && geomatch.drawing.shown?.some((d) => d.id === 'far')");
});

test('names are text, whatever they are', options, async (t) => {
  const names = ['<img src=x onerror=alert(1)>', 'أحمد‮evil', '👩‍👩‍👧‍👦', 'x'.repeat(128), '<script>document.title="bad"</script>'];
  for (const [i, id] of names.entries()) {
    await daemon.ask('device/create', {deviceType: 'PinDevice', id, name: id, location: at(-10 + 2 * i, -10)});
  }
  const page = await open(t);
  await page.until(`${names.length} <= [...geomatch.model.devices.keys()].filter((id) => ${JSON.stringify(names)}.includes(id)).length`);
  await page.evaluate("document.getElementById('tables').click()");
  await page.until("document.getElementById('table').innerText.includes('<img src=x')");
  await page.click(...(await page.evaluate("(() => { const box = [...document.querySelectorAll('#table th button')].find((b) => b.textContent.startsWith('<img')).getBoundingClientRect(); return [box.left + 5, box.top + 5]; })()")));
  await page.until("document.querySelector('#details h2')?.innerText.startsWith('<img')");
  assert.equal(await page.evaluate("document.querySelectorAll('#table img, #details img, #table script, #details script').length"), 0);
  assert.notEqual(await page.evaluate('document.title'), 'bad');
  assert.deepEqual(page.problems, []);
  for (const id of names) await daemon.ask('device/delete', {id});
});

test('what is refused stands under diagnostics', options, async (t) => {
  const page = await open(t);
  await sleep(300);
  await daemon.publish({'-/-/-/-/broken/position': {lat: 430, lon: 7}}).catch(() => {});
  await page.until("document.getElementById('diagnostics').textContent.includes('broken')");
});

test('what is imported while somebody looks appears', options, async (t) => {
  const page = await open(t, '#empty/18/43.73/7.42');
  await daemon.ask('dataset/import', {structure: {type: 'FeatureCollection', features: [{type: 'Feature', geometry: null, properties: {level: 'venue', id: 'later'}}]}}, {dataset: 'empty', client: 'admin'});
  await page.until("geomatch.model.structure.length === 1", 9500);
  await daemon.ask('structure/delete', {level: 'venue', id: 'later'}, {dataset: 'empty', client: 'admin'});
});

test('an empty dataset says what to do, and a missing one is waited for', options, async (t) => {
  const page = await open(t, '#empty');
  await page.until("document.getElementById('empty').innerText.includes('demo building')");
  const missing = await open(t, '#nowhere', {wait: false});
  await missing.until("document.getElementById('status').innerText.includes('There is no dataset nowhere')");
  await daemon.ask('device/create', {deviceType: 'MobileDevice'}, {dataset: 'nowhere'});
  await missing.until("document.getElementById('status').className === 'online'", 9000);
});

test('without a dataset in the address it is chosen', options, async (t) => {
  const page = await open(t, '', {search: '?client=admin', wait: false});
  await page.until("document.getElementById('ask').open && document.getElementById('ask').innerText.includes('demo')");
});

test('a wall display shows the map and nothing to press', options, async (t) => {
  const page = await open(t, '#demo', {search: '?client=me&kiosk'});
  const hidden = await page.evaluate("['tables', 'query', 'side', 'nearer'].every((id) => document.getElementById(id).getClientRects().length === 0)");
  assert.ok(hidden);
  assert.ok(await page.evaluate("document.getElementById('status').getClientRects().length > 0"));
});

test('names of places are drawn where there is room for them', options, async (t) => {
  const ids = [...'abcdefghijkl'].map((letter) => `stall-${letter}`);
  t.after(() => Promise.all(ids.map((id) => daemon.ask('place/delete', {id}, {client: 'admin'}).catch(() => {}))));
  const point = (x, y) => ({type: 'Point', coordinates: [at(x, y).longitude, at(x, y).latitude]});
  // Three heaps of four.
  await daemon.ask('place/import', {places: {type: 'FeatureCollection', features: ids.map((id, n) => ({type: 'Feature', properties: {id, name: `Stall ${id.at(-1)}`}, geometry: point(100 * (n % 3) + Math.floor(n / 3), 200)}))}});
  const {latitude, longitude} = at(100, 200);
  const page = await open(t, `#demo/17/${latitude}/${longitude}`);
  await page.until("geomatch.model.places.length > 12");
  const drawn = (x) => page.evaluate(`(() => { const names = []; const {drawing, map} = geomatch; const label = drawing.label;
    drawing.label = function (context, text, ...rest) { names.push(text); label.call(this, context, text, ...rest); };
    map.panBy(${x}, 0); drawing.drawGround(geomatch.model, null, Date.now(), null); drawing.label = label; return names.filter((name) => name.startsWith('Stall')).sort(); })()`);
  assert.deepEqual(await drawn(0), ['Stall a', 'Stall b', 'Stall c']);
  // The same ones wherever the map lies, and more of them where one is nearer.
  assert.deepEqual(await drawn(-37), ['Stall a', 'Stall b', 'Stall c']);
  await page.evaluate('geomatch.map.zoomBy(6)');
  const near = await page.evaluate('geomatch.model.places.filter((place) => place.id.startsWith("stall")).every((place) => place.namedFrom < geomatch.map.scale)');
  assert.ok(near);
});

test('thousands are drawn where they are, and nothing where nobody is', options, async (t) => {
  const topics = [...Array(1600).keys()].map((n) => `-/-/-/-/crowd-${n}/position`);
  t.after(() => daemon.publish(Object.fromEntries(topics.map((topic) => [topic, null]))));
  await daemon.publish(Object.fromEntries(topics.map((topic, n) => [topic, {latitude: 10 + n % 40 * 1e-4, longitude: 10 + Math.floor(n / 40) * 1e-4}])));
  const page = await open(t, '#demo/16/10.002/10.002');
  await page.until('geomatch.drawing.shown?.length === 1600');
  const found = await page.evaluate(`(() => { const {drawing} = geomatch; const {ratio} = drawing; const colour = new OffscreenCanvas(1, 1).getContext('2d');
    colour.fillStyle = drawing.colour.accent; colour.fillRect(0, 0, 1, 1); const wanted = colour.getImageData(0, 0, 1, 1).data.join();
    const at = (x, y) => drawing.live.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data.join();
    return {there: drawing.shown.filter(({px, py}) => at(px, py) === wanted).length, nowhere: at(5, drawing.height - 5)}; })()`);
  assert.deepEqual(found, {there: 1600, nowhere: '0,0,0,0'});
  assert.deepEqual(page.problems, []);
});

test('rooms are listed by floor, with how full they are, and are chosen there', options, async (t) => {
  await daemon.publish({'v/h/0/a/-/occupancy': {nrOfPeople: 3}, 'v/h/1/b/-/occupancy': {nrOfPeople: 4}});
  const page = await open(t);
  await page.evaluate("document.getElementById('tables').click()");
  const rows = "[...document.querySelectorAll('#table table')[0].tBodies].map((body) => [...body.rows].map((row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent).join(' ')))";
  await page.until(`JSON.stringify(${rows}).includes('100 %')`);
  assert.deepEqual((await page.evaluate(rows)).map((floor) => floor.map((row) => row.trim())), [
    ['Venue, h, floor 1', 'Room a1 not known 4', 'Room b1 4 4 100 %', 'Room c1 not known 4'],
    ['Venue, h, floor 0', 'Room a0 3 4 75 %', 'Room b0 not known 4', 'Room c0 not known 4'],
  ]);
  await page.evaluate("[...document.querySelectorAll('#table button')].find((button) => button.textContent === 'Room b1').click()");
  await page.until("/Room b1[^]*4 of 4/.test(document.getElementById('details').innerText)");
});

/** Matches that come while the page is open. */
const matches = (page, from, count) => page.evaluate(`(() => { for (let n = ${from}; n < ${from + count}; n++) geomatch.model.applyMatch({id: 'x' + n, createdAt: Date.now(),
  publication: {deviceId: 'publisher' + n, topic: 'news'}, subscription: {deviceId: 'subscriber' + n}}, Date.now()); })()`);
const topOf = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().top`);

test('nothing moves on a phone while values come in, and all of it is there', options, async (t) => {
  const page = await open(t, '#demo', {width: 390, height: 844, mobile: true});
  const parts = ['main', '#tables', 'aside', '#circumstances', 'aside details:last-of-type'];
  await page.evaluate("document.getElementById('circumstances').closest('details').open = true");
  const before = await Promise.all(parts.map((part) => topOf(page, part)));
  await matches(page, 0, 30);
  await page.evaluate("document.getElementById('status').textContent = 'Online: a sample of 5,000, of 40,000 in view: zoom in for all, 40,000 known'");
  assert.deepEqual(await Promise.all(parts.map((part) => topOf(page, part))), before);
  await page.until("document.getElementById('matches').children.length === 30");
  assert.deepEqual(await Promise.all(parts.map((part) => topOf(page, part))), before);
  const isWhole = (id) => page.evaluate(`(() => { const {scrollWidth, clientWidth, scrollHeight, clientHeight} = document.getElementById('${id}'); return clientHeight > 0 && scrollWidth <= clientWidth && scrollHeight <= clientHeight; })()`);
  for (const id of ['status', 'legend']) assert.ok(await isWhole(id), id);
  const box = await page.evaluate("(() => { const {left, right, bottom} = document.getElementById('legend').getBoundingClientRect(); return {left, right, bottom, map: document.getElementById('map').getBoundingClientRect().bottom}; })()");
  assert.ok(box.left >= 0 && box.right <= 390 && box.bottom < box.map, JSON.stringify(box));
});

test('a row that is pointed at or read stays where it is while others come', options, async (t) => {
  const page = await open(t);
  await matches(page, 0, 3);
  await page.until("document.getElementById('matches').children.length === 3");
  const rowOf = (n) => page.evaluate(`(() => { const box = [...document.querySelectorAll('#matches li')].find((row) => row.textContent.includes('publisher${n} ')).getBoundingClientRect(); return [box.left + 20, box.top + 8].map(Math.round); })()`);
  const [x, y] = await rowOf(1);
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x, y});
  await page.until("document.querySelector('#matches li:hover') !== null");
  await matches(page, 3, 5);
  await page.until("document.getElementById('matches').children.length === 8");
  assert.deepEqual(await rowOf(1), [x, y]);
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 300, y: 400});
  await page.until("document.getElementById('matches').scrollTop === 0");
  await matches(page, 8, 40);
  await page.until("document.getElementById('matches').children.length === 48");
  await page.evaluate("document.getElementById('matches').scrollTop = 200");
  const read = await rowOf(40);
  await matches(page, 48, 10);
  await page.until("document.getElementById('matches').children.length === 58");
  assert.deepEqual(await rowOf(40), read);
});

test('letters, lines and marks grow with the screen: on a wall they can be read from afar', options, async (t) => {
  const size = async (width, height, search) => {
    const page = await open(t, '#demo', {search, width, height});
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
    const [em, letters] = await page.evaluate("[geomatch.drawing.em, parseFloat(getComputedStyle(document.getElementById('status')).fontSize)]");
    assert.ok(Math.abs(em - letters / 15) < 0.02, `${em} ${letters}`);
    return em;
  };
  assert.equal(await size(1440, 900, '?client=me'), 1);
  const [window, wall, kiosk] = [await size(2560, 1440, '?client=me'), await size(3840, 2160, '?client=me'), await size(3840, 2160, '?client=me&kiosk')];
  assert.ok(window > 1 && window < 1.5, `${window}`);
  assert.ok(wall > 1.6 && wall < 2, `${wall}`);
  assert.ok(kiosk * 15 > 2160 / 60, `${kiosk}`);
});

test('on a phone nothing sticks out', options, async (t) => {
  const page = await open(t, '#demo', {width: 390, height: 844, mobile: true});
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= 390'));
  assert.ok(await page.evaluate("document.getElementById('map').clientHeight > 300"));
});
