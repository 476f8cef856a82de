// The page: brings together the connection, what is known, the map and the text.

import {Link} from './link.mjs';
import {ThreadSocket} from './socket.mjs';
import {Model, limits} from './model.mjs';
import {WorldMap, Tiles} from './map.mjs';
import {Drawing, detailMax} from './draw.mjs';
import {explain} from './explain.mjs';
import {Bell} from './tell.mjs';
import {parseView, formatView, parseOptions} from './view.mjs';
import {bbox, worldX, worldY, worldRings, boxOf, latitudeOf, longitudeOf} from './geometry.mjs';
import {el, name, time, count, plain} from './text.mjs';
import * as panels from './panels.mjs';

const $ = (id) => document.getElementById(id);
const keyName = 'geomatch-key';
/** A snapshot of more is not taken: a sample is shown instead, and said to be one. */
const snapshotMax = 30000;
const sampleMax = 5000;
const leaseSeconds = 3600;
/** So many devices are too many to be drawn in each frame. */
const crowd = 3000;

const base = new URL('.', location.href);
const options = parseOptions(location.search);
const model = new Model();
let view = parseView(location.hash);
/** The address as it was last read or written. */
let hash = location.hash;
let link, map, drawing, tiles = null;
let look = {floor: null, selected: [], isLost: false, now: Date.now()};
let viewport = null;
/** The daemon's clock less ours. */
let offset = 0;
let hasFigures = {dataset: null, status: null, ready: null};
let explaining = false;
let isGroundDue = true;
let isLiveDue = true;
let liveID = null;
let drawnAt = 0;
let sampling = null;
const bell = new Bell(base, window);
/** What the details are, as they are now. */
let details = () => [];
const watching = {match: false, circumstance: false};

document.documentElement.classList.toggle('kiosk', options.kiosk);

const now = () => Date.now() + offset;

const host = {
  fetch: (url, init, within) => fetch(url, {...init, signal: AbortSignal.timeout(within)}),
  WebSocket: ThreadSocket,
  now: () => Date.now(),
  every: (ms, f) => { const timer = setInterval(f, ms); return () => clearInterval(timer); },
  after: (ms, f) => { const timer = setTimeout(f, ms); return () => clearTimeout(timer); },
  random: Math.random,
};

const storedKey = () => { try { return sessionStorage.getItem(keyName); } catch { return null; } };
const storeKey = (key) => { try { key ? sessionStorage.setItem(keyName, key) : sessionStorage.removeItem(keyName); } catch { /* a tab without storage asks again */ } };

// Connection

function connect() {
  link?.close();
  model.clear();
  viewport = null;
  liveID = null;
  clearSelection();
  $('dataset').textContent = view.dataset ?? 'geomatch';
  document.title = view.dataset ? `${view.dataset} – geomatch` : 'geomatch';
  if (!view.dataset) return askDataset();
  link = new Link(base, {dataset: view.dataset, client: options.client, key: storedKey()}, host, {
    changed: changed,
    opened: (dataset) => opened(dataset).catch(failed),
    message: received,
    dataset: datasetChanged,
    jumped: renewLease,
  });
}

function changed(state) {
  const isLost = state.name !== 'online';
  // What is shown from before stays, grey and said to be old, until the daemon is there again.
  if (isLost && !look.isLost) look.lostAt = (link?.heardAt ?? Date.now()) + offset;
  look.isLost = isLost;
  document.body.classList.toggle('lost', isLost && state.name !== 'connecting');
  const texts = {
    connecting: 'Connecting…', online: 'Online', key: 'A key is needed', denied: `Not allowed: ${state.detail ?? ''}`,
    missing: `There is no dataset ${view.dataset}: waiting for it`, lost: `Disconnected: ${state.detail}; trying again`,
  };
  setStatus(texts[state.name], state.name);
  say(texts[state.name]);
  notice(state.name === 'lost' && model.devices.size + model.figures.size > 0
    ? `Disconnected since ${time(look.lostAt)}: what is shown is from before.` : state.name === 'denied' ? texts.denied : null);
  if (state.name === 'key') askKey(storedKey() ? 'This key is not known, has expired or was deleted.' : null);
  if (state.name === 'denied' && storedKey()) askKey(state.detail);
  clearInterval(sampling);
  isGroundDue = isLiveDue = true;
}

function setStatus(text, kind) {
  if ($('status').textContent !== text) $('status').textContent = text;
  $('status').className = kind === 'online' ? 'online' : kind === 'connecting' ? '' : 'lost';
}

/** Once, for those who hear the page. */
function say(text) {
  if ($('said').textContent !== text) $('said').textContent = text;
}

function notice(text) {
  $('notice').hidden = !text;
  if (text && $('notice').textContent !== text) $('notice').textContent = text;
}

/** What was imported meanwhile is read, too. */
function datasetChanged(dataset) {
  const counts = (names, {counts: figures = {}} = {}) => names.map((name) => figures[name] ?? 0).join();
  const isOther = (...names) => counts(names, dataset) !== counts(names, hasFigures.dataset ?? {});
  if (isOther('venues', 'buildings', 'floors', 'rooms')) loadStructure().catch(failed);
  if (isOther('places')) loadPlaces().catch(failed);
  hasFigures.dataset = dataset;
  isGroundDue = true;
  checkReady();
}

/** Everything anew: nothing of an earlier connection is kept. */
async function opened(dataset) {
  model.clear();
  viewport = null;
  if ($('ask').open) $('ask').close();
  hasFigures.dataset = dataset;
  await loadStructure();
  await Promise.all([loadPlaces(), loadTypes()]);
  if (view.zoom === null) await showAll();
  await follow();
  if (look.selected.length && !explaining) showDevice(look.selected[0]);
  link.ask('dataset/watch').catch(() => {});
  bell.begin(link).catch(() => {});
  for (const kind of ['match', 'circumstance']) {
    link.ask(`${kind}/watch`).then(() => { watching[kind] = true; }, () => { watching[kind] = false; }).finally(showScope);
  }
  checkReady();
}

function failed(error) {
  if (link?.isOnline) notice(`The daemon refused: ${error.message}`);
}

async function pages(request, parameters, member, most) {
  const items = [];
  let after;
  do {
    const page = await link.ask(request, {...parameters, ...(after ? {after} : {}), limit: 1000});
    items.push(...page[member]);
    after = page.next;
  } while (after && items.length < most);
  return items;
}

async function loadStructure() {
  model.setStructure(await pages('structure/list', {outlines: true}, 'objects', 20000).catch(() => []));
  const select = $('floor');
  const choices = model.floorChoices();
  select.replaceChildren(...choices.map((floor) => el('option', {value: floor.id}, floor.name || floor.id)));
  $('floors').hidden = choices.length < 2;
  setFloor(view.floor);
}

async function loadPlaces(within) {
  const places = await pages('place/list', within ? {within} : {}, 'places', 2000).catch(() => []);
  model.places = places.flatMap((feature) => {
    const place = feature.properties ? {...feature.properties, geometry: feature.geometry} : feature;
    const rings = worldRings(place.geometry);
    const box = rings.length ? boxOf(rings) : null;
    const point = place.geometry?.type === 'Point' ? place.geometry.coordinates
      : box ? [longitudeOf((box[0] + box[2]) / 2), latitudeOf((box[1] + box[3]) / 2)]
      : Number.isFinite(place.longitude) ? [place.longitude, place.latitude] : null;
    if (!point) return [];
    const {geometry, ...properties} = place;
    return [{id: String(place.id ?? feature.id), name: place.name, properties, rings, box: box ?? [0, 0, 0, 0], x: worldX(point[0]), y: worldY(point[1])}];
  });
  isGroundDue = true;
}

async function loadTypes() {
  const devices = await pages('device/list', {}, 'devices', 1000).catch(() => []);
  model.types = new Map(devices.map((device) => [device.id, device.deviceType]));
}

async function checkReady() {
  try {
    const response = await host.fetch(new URL('readyz', base), {cache: 'no-store'}, 8000);
    const body = await response.json();
    hasFigures.ready = response.ok ? 'online' : body.error?.message ?? 'not online';
  } catch {
    hasFigures.ready = null;
  }
  showStatus();
}

function received(topic, payload) {
  const [kind] = topic.split('/', 1);
  if (kind === 'live') {
    if (!payload || topic !== `live/${liveID}`) return;
    model.apply(payload);
    if (payload.topic.endsWith('/occupancy')) isGroundDue = true;
    isLiveDue = true;
  } else if (kind === 'match') {
    model.applyMatch(payload, now());
    isLiveDue = true;
  } else if (kind === 'circumstance') {
    model.applyCircumstance(payload, now());
    isLiveDue = true;
  }
  else if (kind === 'diagnostics') model.applyDiagnostic(topic.split('/')[1], payload, now());
  else if (kind === 'status') hasFigures.status = payload;
}

// The part that is looked at

/** Has the live subscription be of what is in view, with a margin, so that small moves ask for nothing. */
async function follow() {
  if (!link?.isOnline) return;
  const extent = drawing.extent();
  if (viewport && isWithin(extent, viewport)) return;
  const [dx, dy] = [(extent[2] - extent[0]) * 0.25, (extent[3] - extent[1]) * 0.25];
  viewport = [extent[0] - dx, extent[1] - dy, extent[2] + dx, extent[3] + dy];
  const within = {bbox: bbox(extent, 0.25)};
  const generation = model.beginView();
  model.omitted = 0;
  clearInterval(sampling);
  sampling = null;
  liveID ??= `page-${link.prefix}${Date.now().toString(36)}`;
  const reply = await link.ask('live/subscribe', {id: liveID, criteria: `${view.dataset}/#`, within, minInterval: 250, lease: leaseSeconds});
  setOffset(reply);
  if (reply.snapshot > snapshotMax) await sample(within, reply.snapshot);
  // What is not said again by then is not there any more.
  setTimeout(() => {
    if (model.generation !== generation) return;
    model.prune();
    isGroundDue = isLiveDue = true;
  }, 4000);
  if (model.places.length >= 2000) loadPlaces(within);
}

function setOffset({leaseUntil}) {
  offset = leaseUntil - leaseSeconds * 1000 - Date.now();
  if (Math.abs(offset) < 1500) offset = 0;
}

/** What is looked at goes on to come, and how late it is here is asked anew; a lease that ran out meanwhile is taken again. */
async function renewLease() {
  if (!link?.isOnline || !liveID || sampling) return;
  await link.ask('live/renew', {id: liveID}).then(setOffset, (error) => {
    if (error.error !== 'notFound') return;
    viewport = null;
    return follow();
  }).catch(failed);
}

const isWithin = (extent, [x0, y0, x1, y1]) => extent[0] >= x0 && extent[2] <= x1 && extent[1] >= Math.min(y0, 1) && extent[3] <= Math.max(y1, 0)
  && (extent[2] - extent[0]) * 5 > x1 - x0;

/** Too many for one screen: some are shown, and it is said that they are some. */
async function sample(within, total) {
  await link.ask('live/unsubscribe', {id: liveID});
  const take = async () => {
    const updates = await pages('live/snapshot', {criteria: {domain: 'position'}, within}, 'updates', sampleMax).catch(() => []);
    for (const update of updates.slice(0, sampleMax)) model.apply(update);
    model.sampledOf = total;
    isLiveDue = true;
  };
  await take();
  sampling = setInterval(take, 10000);
}

/** All that has a place: the structure, else positions, else the world. */
async function showAll() {
  const boxes = model.structure.filter((object) => object.rings.length).map((object) => object.box);
  if (!boxes.length && link?.isOnline) {
    const updates = await pages('live/snapshot', {criteria: {domain: 'position'}}, 'updates', 2000).catch(() => []);
    for (const {properties} of updates) boxes.push([worldX(properties.longitude), worldY(properties.latitude), worldX(properties.longitude), worldY(properties.latitude)]);
  }
  for (const place of boxes.length ? [] : model.places) boxes.push([place.x, place.y, place.x, place.y]);
  if (!boxes.length) return map.set(20, 0, 2);
  const [x0, y0, x1, y1] = boxes.reduce((a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]);
  const least = 1e-9;
  map.fit([x0 - least, y0 - least, x1 + least, y1 + least]);
}

function setFloor(id) {
  view.floor = id;
  look.floor = model.floor(id);
  if (look.floor) $('floor').value = look.floor.id;
  isGroundDue = isLiveDue = true;
}

/** An address without a view is shown all of, once the daemon has said what that is. */
const hasView = () => view.zoom !== null || viewport !== null;

function writeHash() {
  if (!view.dataset || !hasView()) return;
  // Another one was entered, which is to be read first.
  if (location.hash !== hash) return;
  Object.assign(view, {zoom: map.zoom, lat: map.latitude, lon: map.longitude});
  history.replaceState(null, '', formatView(view) || location.pathname);
  hash = location.hash;
}

// Selection

function clearSelection() {
  look.selected = [];
  explaining = false;
  showDetails(() => []);
  isLiveDue = true;
}

/** From now on; they are looked at anew each second. */
function showDetails(of) {
  details = of;
  $('details').replaceChildren(...details());
}

/** A first device is shown, a second one explained. */
function pick(id, isShift) {
  const [first] = look.selected;
  if (first && first !== id && (isShift || !explaining)) return explainPair(first, id);
  explaining = false;
  look.selected = [id];
  isLiveDue = true;
  say(`Details of ${id}`);
  showDevice(id);
}

async function showDevice(id) {
  const shown = {id};
  const of = () => {
    // One that left the view stays as it was, and grows old.
    shown.live = model.devices.get(id) ?? shown.live;
    const states = statesOfDevice(id);
    if (states.length || model.devices.has(id) || !shown.states) shown.states = states;
    return panels.deviceDetails(shown, now(), bell.isThere ? ring : null);
  };
  const show = () => { if (look.selected[0] === id && !explaining) showDetails(of); };
  show();
  if (!link?.isOnline) return;
  const list = (request, member) => link.ask(request, {deviceId: id, limit: 50}).then((r) => r[member], () => null);
  const [device, publications, subscriptions] = await Promise.all([
    link.ask('device/get', {id}).catch((error) => { shown.note = error.message; return null; }), list('publication/list', 'publications'), list('subscription/list', 'subscriptions')]);
  Object.assign(shown, {device, publications, subscriptions});
  show();
}

/** A button that turns this browser's notifications of a subscription's matches on or off. */
function ring(subscription) {
  let known = subscription;
  const button = el('button', {type: 'button', onclick: async () => {
    button.disabled = true;
    try {
      known = await bell.set(link, known, !bell.rings(known));
      label();
    } catch (error) {
      label(error.message);
    }
    button.disabled = false;
  }});
  const problem = el('small', {class: 'fail', role: 'status'});
  const label = (why = '') => {
    button.textContent = bell.rings(known) ? 'Stop telling me' : 'Tell me';
    problem.textContent = why;
  };
  label();
  return [el('span', {'data-kept': subscription.id}, button, ' ', problem)];
}

function statesOfDevice(id) {
  return [...model.states.values()].map(({update}) => update).filter((update) => update.itemId === id && update.topic.split('/')[5] !== '-');
}

async function explainPair(a, b) {
  explaining = true;
  look.selected = [a, b];
  isLiveDue = true;
  say(`Why ${a} and ${b} match, or not`);
  showDetails(() => [el('h2', {}, 'Asking why ', name(a, 40), ' and ', name(b, 40), ' match, or not…')]);
  const result = await explain(link, [a, b]);
  if (look.selected[0] === a && look.selected[1] === b) showDetails(() => panels.explanation([a, b], result));
}

function clicked(point, isShift) {
  $('found').replaceChildren();
  const device = drawing.deviceAt(point);
  if (device) return pick(device.id, isShift);
  clearSelection();
  const place = drawing.placeAt(point, model.places);
  if (place) return showDetails(() => panels.placeDetails(place));
  const room = model.roomAt(...drawing.toWorld(point), look.floor);
  if (room) showRoom(room);
}

function showRoom({key}) {
  say(`Details of room ${key}`);
  const levels = key.split('/');
  let known = null;
  showDetails(() => {
    // The structure may have been read anew.
    known = model.rooms.get(key) ?? known;
    if (!known) return [];
    const room = known;
    const inside = [...model.devices.values()].filter((device) => levels.every((level, i) => device.levels[i + 1] === level)
      || model.isIn(room, device));
    inside.sort((a, b) => (a.id < b.id ? -1 : 1));
    return panels.roomDetails(known, model.occupancy(known, now()), model.statesOf(levels), inside.slice(0, 200), now(), pick);
  });
}

// Search

function search() {
  const text = $('query').value;
  const found = model.search(text);
  const go = (item) => { $('found').replaceChildren(); ($('table').hidden ? $('map') : $('tables')).focus(); visit(item); };
  $('found').replaceChildren(...found.map((item) => el('li', {}, el('button', {type: 'button', onclick: () => go(item)},
    name(item.label, 40), ' ', el('small', {}, item.kind)))));
  return found;
}

function visit({kind, target}) {
  const center = target.rings?.length ? [(target.box[0] + target.box[2]) / 2, (target.box[1] + target.box[3]) / 2] : [target.x, target.y];
  if (kind === 'room' || kind === 'floor') setFloor(kind === 'floor' ? target.id : target.parents.floor);
  else if (kind === 'device' && target.floor) setFloor(target.floor);
  map.place(center[0], center[1], Math.max(map.zoom, kind === 'device' ? 17 : 18));
  clearSelection();
  if (kind === 'device') pick(target.id, false);
  else if (kind === 'room') showRoom(target);
  else if (kind === 'place') showDetails(() => panels.placeDetails(target));
}

async function searchExactly(event) {
  event.preventDefault();
  const text = $('query').value.trim();
  if (!text) return;
  const found = search();
  const exact = found.find((item) => item.id === text) ?? (found.length === 1 ? found[0] : null);
  if (exact) {
    $('found').replaceChildren();
    return visit(exact);
  }
  if (!link?.isOnline) return;
  // Not in view: the daemon may know it.
  try {
    const device = await link.ask('device/get', {id: text});
    $('found').replaceChildren();
    if (device.location) map.set(device.location.latitude, device.location.longitude, Math.max(map.zoom, 17));
    pick(device.id, false);
  } catch (error) {
    if (!found.length) $('found').replaceChildren(el('li', {}, el('button', {type: 'button', onclick: () => $('found').replaceChildren()}, error.message)));
  }
}

// Dialogs

function dialog(title, ...children) {
  const form = $('ask').querySelector('form');
  form.replaceChildren(el('h2', {}, title), ...children.filter((child) => child !== null));
  if (!$('ask').open) $('ask').showModal();
  return form;
}

function askKey(why) {
  const field = el('input', {type: 'password', autocomplete: 'off', required: true, 'aria-label': 'Key', maxlength: 4096});
  const form = dialog('A key is needed', why ? el('p', {class: 'fail'}, why) : null,
    el('p', {}, 'The daemon shows this dataset to those who have a key. It is kept in this tab only, until it is closed.'),
    el('label', {}, 'Key', field), el('button', {class: 'main'}, 'Connect'));
  form.onsubmit = (event) => {
    event.preventDefault();
    const key = field.value.trim();
    storeKey(key);
    $('ask').close();
    view.dataset ??= datasetOf(key);
    connect();
  };
  field.focus();
}

/** A key says which dataset it is for, where it is no opaque one. */
function datasetOf(key) {
  try {
    const {sub} = JSON.parse(atob(key.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
    return sub && sub !== '*' ? sub : null;
  } catch {
    return null;
  }
}

async function askDataset() {
  setStatus('No dataset is chosen', 'connecting');
  let known = [];
  let status = 0;
  try {
    const headers = storedKey() ? {Authorization: `Bearer ${storedKey()}`} : options.client ? {'Geomatch-Client': options.client} : {};
    const response = await host.fetch(new URL('api/geomatch-page/dataset/list', base), {headers, cache: 'no-store'}, 8000);
    status = response.status;
    const body = await response.json();
    known = body.result?.datasets ?? [];
    if (status === 401 && !/administrators/.test(body.error?.message) && !storedKey()) return askKey();
  } catch { /* it is asked for by name, then */ }
  const open = (dataset) => { $('ask').close(); location.hash = formatView({dataset}); };
  if (known.length === 1) return open(known[0].id);
  const field = el('input', {type: 'text', autocomplete: 'off', required: true, 'aria-label': 'Dataset', maxlength: 64});
  const form = dialog('Which dataset?', known.length ? el('ul', {}, ...known.slice(0, 500).map(({id, counts}) => el('li', {},
    el('button', {type: 'button', onclick: () => open(id)}, name(id, 64), ' ', el('small', {}, `${count(counts?.devices ?? 0)} devices`))))) : null,
    el('label', {}, 'Name of the dataset', field), el('button', {class: 'main'}, 'Show'));
  form.onsubmit = (event) => { event.preventDefault(); open(field.value.trim()); };
  field.focus();
}

// Each second, and each frame

function showScope() {
  $('matchScope').textContent = watching.match ? 'Of all clients of the dataset.'
    : `Of your own subscriptions${storedKey() ? '' : ` (client ${options.client ?? 'http'})`}; administrators see all.`;
}

function showStatus() {
  if (!link?.isOnline) return;
  const shown = drawing?.shown?.length ?? model.devices.size;
  const parts = [`Online: ${count(shown)} device${shown === 1 ? '' : 's'} in view`];
  if (hasFigures.dataset) parts.push(`${count(hasFigures.dataset.counts?.devices ?? 0)} known`);
  if (sampling) parts[0] = `Online: a sample of ${count(shown)}, of ${count(model.sampledOf)} in view: zoom in for all`;
  else if (model.omitted) parts.push(`${count(model.omitted)} updates beyond ${count(limits.devices)} devices left out: zoom in`);
  const isBad = hasFigures.ready && hasFigures.ready !== 'online';
  setStatus(isBad ? `The daemon is ${hasFigures.ready}` : parts.join(', '), isBad ? 'lost' : 'online');
}

function showFigures() {
  const {dataset, status, ready} = hasFigures;
  const pairs = [['daemon', link?.isOnline ? ready ?? 'online' : link?.state.detail ?? 'not connected'], ['dataset', view.dataset ?? '']];
  for (const [key, value] of Object.entries(dataset?.counts ?? {})) if (value) pairs.push([key, count(value)]);
  for (const group of ['updates', 'requests', 'matches']) {
    const figures = Object.entries(status?.[group] ?? {}).filter(([, value]) => value > 0);
    if (figures.length) pairs.push([group, figures.map(([key, value]) => `${count(value)} ${key}`).join(', ')]);
  }
  panels.showPairs($('figures'), pairs);
}

function showEmpty() {
  const isEmpty = link?.isOnline && model.generation > 0 && !model.devices.size && !model.structure.length && !model.places.length && !options.kiosk;
  if (isEmpty === !$('empty').hidden) return;
  $('empty').hidden = !isEmpty;
  if (!isEmpty) return;
  const isElsewhere = (hasFigures.dataset?.counts?.devices ?? 0) > 0;
  $('empty').replaceChildren(el('p', {}, isElsewhere ? 'Nothing of this dataset is in view.' : 'This dataset is empty so far. For something to look at:'),
    ...(isElsewhere ? [el('button', {type: 'button', onclick: showAll}, 'Show all')]
      : [el('code', {}, `geomatch --dataset ${view.dataset} demo building`), el('code', {}, `curl ${base.href}api/${encodeURIComponent(view.dataset)}/live/-/-/-/-/phone/position -d '{"lat":43.73,"lon":7.42}'`)]));
}

function everySecond() {
  look.now = now();
  model.trimTrails(look.now);
  panels.showMatches($('matches'), model.matches, (match) => explainPair(match.publication.deviceId, match.subscription.deviceId));
  panels.showCircumstances($('circumstances'), model.circumstances, pick);
  panels.showDiagnostics($('diagnostics'), model.diagnostics);
  $('matchCount').textContent = model.matches.length ? `(${model.matches.length})` : '';
  $('circumstanceCount').textContent = model.circumstances.length ? `(${model.circumstances.length})` : '';
  $('diagnosticCount').textContent = model.diagnostics.length ? `(${model.diagnostics.length})` : '';
  panels.showLegend($('legend'), model, look.now, matchMedia('(prefers-color-scheme: dark)').matches);
  if (!$('table').hidden) showTable();
  if (sampling === null && document.querySelector('aside details:last-of-type').open) showFigures();
  showStatus();
  showEmpty();
  if (drawing?.shown?.length <= detailMax) isLiveDue = true;
  if (Math.round(look.now / 1000) % 10 === 0) isGroundDue = true;
  panels.renew($('details'), details());
}

function frame() {
  requestAnimationFrame(frame);
  look.now = now();
  // Thousands are drawn thirty times a second at most: what is left of the second is for what they send.
  if (drawing.shown?.length > crowd && !isGroundDue && look.now - drawnAt < 30) return;
  drawnAt = look.now;
  if (isGroundDue) drawing.drawGround(model, look.floor, look.now, tiles);
  if (isLiveDue || [...model.matches, ...model.circumstances].some(({isFresh, shownAt}) => isFresh && look.now - shownAt < 11000)) drawing.drawLive(model, look);
  isGroundDue = isLiveDue = false;
}

// The beginning

const table = new panels.Table($('table'), pick, (key) => {
  clearSelection();
  showRoom({key});
});

function showTable() {
  table.show(model, look.floor, now(), (room) => !room.rings.length || drawing.isVisible(room));
}

async function makeMap() {
  map = new WorldMap($('map'), {
    moved: () => { isGroundDue = isLiveDue = true; },
    rested: () => {
      if (!hasView()) return;
      writeHash();
      follow().catch(failed);
    },
    clicked,
  });
  drawing = new Drawing($('map'), map);
  if (view.zoom !== null) map.set(view.lat, view.lon, view.zoom);
  $('nearer').addEventListener('click', () => map.zoomBy(1));
  $('farther').addEventListener('click', () => map.zoomBy(-1));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { drawing.readColours(); isGroundDue = isLiveDue = true; });
  const settings = await host.fetch(new URL('page/settings.json', base), {}, 8000).then((r) => r.json()).catch(() => ({}));
  if (!settings.tiles) return;
  tiles = new Tiles(settings.tiles.url, () => { isGroundDue = true; });
  $('attribution').textContent = settings.tiles.attribution ?? '';
}

function toggleTable(isShown) {
  $('table').hidden = !isShown;
  $('tables').setAttribute('aria-expanded', String(isShown));
  // It lies below.
  $('map').inert = isShown;
  if (isShown) showTable();
}

addEventListener('hashchange', () => {
  hash = location.hash;
  const next = parseView(hash);
  const isOther = next.dataset !== view.dataset;
  view = next;
  if (isOther) return connect();
  setFloor(view.floor);
  if (view.zoom !== null) map.set(view.lat, view.lon, view.zoom);
});
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || $('ask').open) return;
  if (!$('table').hidden) {
    toggleTable(false);
    $('tables').focus();
  }
  clearSelection();
  $('found').replaceChildren();
});
// Without an answer there is nothing to show.
$('ask').addEventListener('cancel', (event) => event.preventDefault());
$('tables').addEventListener('click', () => toggleTable($('table').hidden));
$('all').addEventListener('click', () => { showAll().catch(failed); });
$('floor').addEventListener('change', () => { setFloor($('floor').value); writeHash(); });
$('query').addEventListener('input', search);
$('search').addEventListener('submit', searchExactly);
setInterval(everySecond, 1000);
setInterval(renewLease, leaseSeconds * 400);
await makeMap();
connect();
showScope();
frame();
/** For tests, and for the curious. */
window.geomatch = {model, get link() { return link; }, get map() { return map; }, get drawing() { return drawing; }, plain};
