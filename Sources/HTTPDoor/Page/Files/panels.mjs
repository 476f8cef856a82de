// The parts of the page that are text: lists, details, and the table. What is shown already stays where it is, so that nobody loses
// the place or the focus.

import {el, name, time, age, count, metres, plain} from './text.mjs';
import {fills, fillOf} from './draw.mjs';

/** Has the children of a list, from `first` on, be those of some items, each made once; `update` follows what changes. */
function sync(list, items, key, make, update = () => {}, first = 0) {
  const known = (list.known ??= new Map());
  const wanted = new Set();
  items.forEach((item, i) => {
    const id = key(item);
    wanted.add(id);
    if (!known.has(id)) known.set(id, make(item));
    const node = known.get(id);
    update(node, item);
    if (list.children[first + i] !== node) list.insertBefore(node, list.children[first + i] ?? null);
  });
  for (const [id, node] of known) {
    if (wanted.has(id)) continue;
    node.remove();
    known.delete(id);
  }
}

/**
 * New rows come at the top. What is pointed at, has the focus, or is read further down stays where it is on the screen; when the pointer
 * leaves, a list that was at its beginning is there again.
 */
function keepPlace(list, change) {
  const held = list.querySelector('li:is(:hover, :focus-within)');
  if (!held && list.pushedTo && list.scrollTop === list.pushedTo) list.scrollTop = 0;
  if (!held) list.pushedTo = 0;
  // As far as it is pushed there has to be something to scroll.
  list.classList.toggle('held', !!held);
  const anchor = held ?? (list.scrollTop > 0 ? [...list.children].find((row) => row.offsetTop + row.offsetHeight > list.scrollTop) : null);
  const [top, start] = [anchor?.offsetTop, list.scrollTop];
  change();
  if (!anchor?.isConnected || anchor.offsetTop === top) return;
  list.scrollTop = start + anchor.offsetTop - top;
  list.pushedTo = held && start === (list.pushedTo ?? 0) ? list.scrollTop : 0;
}

const syncRows = (list, items, key, make) => keepPlace(list, () => sync(list, items, key, make));

/**
 * Has a part of the page show some nodes, changing only what differs: who reads or is about to press something there loses neither the
 * place nor the focus. What is marked as kept looks after itself.
 */
export function renew(parent, nodes) {
  nodes.forEach((node, i) => {
    const old = parent.childNodes[i];
    if (!old) return parent.append(node);
    if (old.dataset?.kept !== undefined && node.dataset?.kept === old.dataset.kept) return;
    const isSame = old.nodeName === node.nodeName && (old.nodeName !== 'BUTTON' || old.outerHTML === node.outerHTML);
    if (!isSame) return old.replaceWith(node);
    if (node.nodeType === 3) {
      if (old.data !== node.data) old.data = node.data;
      return;
    }
    if (old.className !== node.className) old.className = node.className;
    if (old.nodeName !== 'BUTTON') renew(old, [...node.childNodes]);
  });
  while (parent.childNodes.length > nodes.length) parent.lastChild.remove();
}

const moment = (at) => el('time', {datetime: new Date(at).toISOString()}, time(at));
const pick = (id, onPick) => el('button', {type: 'button', class: 'plain', onclick: (event) => onPick(id, event.shiftKey)}, name(id, 60));

export function showMatches(list, matches, onMatch) {
  syncRows(list, matches, (match) => match.id, (match) => el('li', {},
    moment(match.createdAt), ' ',
    el('button', {type: 'button', class: 'plain', onclick: () => onMatch(match)},
      name(match.publication.deviceId, 30), match.event === 'ended' ? ' ⇹ ' : ' ↔ ', name(match.subscription.deviceId, 30)),
    ' ', el('small', {}, match.event === 'ended' ? `ended (${match.reason ?? ''}), ` : '',
      name(match.publication.topic, 30), Number.isFinite(match.distance) ? `, ${metres(match.distance)}` : '')));
}

export function showCircumstances(list, events, onPick) {
  syncRows(list, events, (event) => event.incidentId, (event) => el('li', {},
    moment(event.timestamp), ' ', name(event.name || event.circumstanceId, 40), ' ', el('small', {}, event.when ?? ''), ' ',
    pick(event.deviceId, onPick),
    event.error ? el('span', {class: 'fail'}, ` ${event.error.message}`)
      : event.atPlaces?.length ? el('small', {}, ' at ', name(plain(event.atPlaces.map((p) => p.name ?? p.place_id ?? p)), 60)) : null));
}

export function showDiagnostics(list, diagnostics) {
  syncRows(list, diagnostics, (diagnostic) => (diagnostic.key ??= Symbol('diagnostic')), (diagnostic) => el('li', {},
    moment(diagnostic.at), ' ', el('small', {}, diagnostic.kind, diagnostic.count > 1 ? ` × ${count(diagnostic.count)}` : ''), ' ',
    name(diagnostic.topic, 80), el('br'), el('span', {class: 'fail'}, diagnostic.message ?? diagnostic.error ?? '')));
}

export function showPairs(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([term, value]) => [el('dt', {}, term), el('dd', {}, value instanceof Node ? value : plain(value))]));
}

/** The legend at the bottom of the map: what the colours mean. */
export function showLegend(legend, model, now, isDark) {
  const hasRooms = model.rooms.size > 0;
  const colours = fills[isDark ? 'dark' : 'light'];
  const box = (i) => { const mark = el('i'); mark.style.background = colours[i]; return mark; };
  const shapes = [el('span', {}, '● device'), el('span', {}, '○ not heard of for 5 min'), el('span', {}, el('i', {class: 'line'}), 'match')];
  if (model.circumstances.length) shapes.push(el('span', {}, el('i', {class: 'square'}), 'circumstance'));
  if ([...model.devices.values()].some((device) => device.isGateway)) shapes.push(el('span', {}, '■ gateway'));
  if (model.places.length) shapes.push(el('span', {}, '◆ place'));
  if (hasRooms) shapes.push(el('span', {}, 'people / capacity of a room: ', box(0), 'empty ', box(1), box(2), box(3), box(4), ' ', box(5), 'full'));
  if ([...model.rooms.values()].some((room) => model.occupancy(room, now)?.isStale)) shapes.push(el('span', {}, '(n) older than 15 min'));
  const text = shapes.map((shape) => shape.textContent).join();
  if (legend.dataset.text !== text + isDark) legend.replaceChildren(...shapes);
  legend.dataset.text = text + isDark;
}

// Details

/** What an update says; where it is one value, its name is that of the domain already. */
const valueOf = ({properties}) => { const values = Object.values(properties); return plain(values.length === 1 ? values[0] : properties); };

const objectPairs = (object, leaveOut = []) => Object.entries(object).filter(([key, value]) =>
  !leaveOut.includes(key) && value !== '' && !(Array.isArray(value) && !value.length));

const folded = (title, items, make) => [el('h3', {}, `${title} (${count(items.length)})`),
  items.length ? el('ol', {}, ...items.map((item) => el('li', {}, ...make(item)))) : el('small', {}, 'none that you may see')];

const dialogList = (pairs) => { const list = el('dl'); showPairs(list, pairs); return list; };

export function deviceDetails({id, device, live, states, publications, subscriptions, note}, now, ring) {
  const properties = live?.properties ?? device?.location ?? {};
  const at = live?.at ?? device?.location?.timestamp;
  const parts = [el('h2', {}, name(id, 128)), el('p', {}, el('small', {}, 'Click another device, or Shift-click, for why the two did or did not match. Esc ends.'))];
  if (note) parts.push(el('p', {class: 'fail'}, note));
  if (at) parts.push(el('p', {}, `Position of ${time(at)}, ${age(now - at)} ago`));
  const pairs = objectPairs(properties, ['timestamp']);
  if (live) pairs.push(['topic', live.topic]);
  if (device) pairs.push(...objectPairs(device, ['id', 'location', 'revision', 'createdAt', 'updatedAt', 'deviceToken']));
  parts.push(dialogList(pairs));
  for (const update of states) {
    const domain = update.topic.split('/')[6];
    parts.push(dialogList([[domain, `${valueOf(update)} (${age(now - update.timestamp)} ago)`]]));
  }
  if (publications) parts.push(...folded('Publications', publications, (p) => [
    name(p.topic, 60), ' ', el('small', {}, `${metres(p.range)} `, plain(p.properties)), ' ', el('small', {}, name(p.id, 40))]));
  if (subscriptions) parts.push(...folded('Subscriptions', subscriptions, (s) => [
    name(s.topic, 60), ' ', el('small', {}, `${metres(s.range)} `, s.selector ?? '', ' ', s.mode === 'visit' ? 'visits' : ''), ' ', el('small', {}, name(s.id, 40)),
    ...(ring ? [' ', ...ring(s)] : [])]));
  return parts;
}

export function roomDetails(room, occupancy, states, devices, now, onPick) {
  const parts = [el('h2', {}, name(room.name || room.id, 128)), el('p', {}, el('small', {}, `${room.level} `, name(room.key, 200)))];
  const pairs = [];
  if (occupancy) pairs.push(['people', `${occupancy.people}${occupancy.capacity ? ` of ${occupancy.capacity}` : ''}, ${age(now - occupancy.at)} ago`]);
  else pairs.push(['people', 'not known']);
  for (const update of states) {
    const levels = update.topic.split('/');
    if (levels[6] !== 'occupancy' && levels[5] === '-') pairs.push([levels[6], `${valueOf(update)}, ${age(now - update.timestamp)} ago`]);
  }
  parts.push(dialogList(pairs), ...folded('Devices', devices, (device) => [pick(device.id, onPick)]));
  return parts;
}

export function placeDetails(place) {
  return [el('h2', {}, name(place.name || place.id, 128)), dialogList(objectPairs(place.properties, ['name']))];
}

export function explanation(ids, {explained, total, why}) {
  const parts = [el('h2', {}, 'Why did ', name(ids[0], 40), ' and ', name(ids[1], 40), ' match, or not?')];
  if (why) parts.push(el('p', {}, why));
  for (const pair of explained) {
    parts.push(el('h3', {class: pair.matches ? 'pass' : 'fail'},
      pair.error ? 'Not known: ' : pair.matches ? 'Would match now: ' : 'Would not match now: ',
      name(pair.publication.id, 40), ' → ', name(pair.subscription.id, 40)));
    if (pair.error) parts.push(el('p', {}, pair.error));
    else parts.push(el('ol', {}, ...pair.checks.map((check) => el('li', {class: check.pass ? 'pass' : 'fail'},
      check.pass ? '✓ ' : '✗ ', el('b', {}, check.check), ' ', el('small', {}, plain(check.detail))))));
  }
  if (total > explained.length) parts.push(el('p', {}, el('small', {}, `${explained.length} of ${total} pairs are shown.`)));
  return parts;
}

// The table: the same for keyboards and screen readers

const rowsMax = 500;

function tableOf(caption, heads, hasBody = true) {
  return el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', {scope: 'col'}, head)))), ...(hasBody ? [el('tbody')] : []));
}

function fillRow(row, cells) {
  cells.forEach((cell, i) => {
    const td = row.children[i + 1];
    if (td.textContent !== cell) td.textContent = cell;
  });
}

export class Table {
  /** `onRoom` gets the key of a room. */
  constructor(section, onPick, onRoom) {
    this.onPick = onPick;
    this.onRoom = onRoom;
    this.devices = tableOf('Devices', ['Id', 'Latitude', 'Longitude', 'Accuracy', 'Floor', 'Room', 'Speed', 'Heard of']);
    this.rooms = tableOf('Rooms', ['Room', 'People', 'Capacity', 'Full', 'Heard of'], false);
    this.matches = tableOf('Matches', ['Publisher', 'Subscriber', 'Topic', 'Distance', 'At']);
    this.note = el('p', {});
    // Rooms seldom come and go: what is below them stays where it is.
    section.append(this.note, this.rooms, this.devices, this.matches);
  }

  body(body, items, key, first, cells, isStale) {
    sync(body, items, key,
      (item) => el('tr', {}, el('th', {scope: 'row'}, first(item)), ...cells(item).map(() => el('td'))),
      (row, item) => { fillRow(row, cells(item)); row.classList.toggle('stale', isStale(item)); }, body.rows[0]?.classList.contains('group') ? 1 : 0);
  }

  /** `isInView` says so of a room: of others nothing is heard. */
  show(model, floor, now, isInView) {
    const devices = [...model.devices.values()].filter((d) => model.isOn(floor, d.floor, d.floorIndex)).sort((a, b) => (a.id < b.id ? -1 : 1));
    const rooms = [...model.rooms.values()].filter(isInView);
    this.note.textContent = devices.length > rowsMax || rooms.length > rowsMax
      ? `The first ${rowsMax} of ${count(devices.length)} devices and ${count(rooms.length)} rooms in view are listed; zoom in or search for others.`
      : 'What is in view. The first column selects; a second device, or Shift, explains why the two did or did not match.';
    this.body(this.devices.tBodies[0], devices.slice(0, rowsMax), (d) => d.id, (d) => pick(d.id, this.onPick), (d) => [
      d.latitude.toFixed(6), d.longitude.toFixed(6), d.accuracy ? metres(d.accuracy) : '', d.floor ?? plain(d.floorIndex ?? ''),
      d.levels[4] === '-' ? '' : d.levels[4], Number.isFinite(d.properties.speed) ? `${d.properties.speed} m/s` : '', `${age(now - d.at)} ago`,
    ], (d) => model.isStale(d, now));
    sync(this.rooms, model.byFloor(rooms.slice(0, rowsMax)), (group) => group.key,
      (group) => el('tbody', {}, el('tr', {class: 'group'}, el('th', {scope: 'rowgroup', colspan: 5}, name(group.title, 120)))),
      (body, group) => this.body(body, group.rooms, (r) => r.key, (r) => el('button', {type: 'button', class: 'plain', onclick: () => this.onRoom(r.key)}, name(r.name || r.id, 60)), (r) => {
        const figure = model.occupancy(r, now);
        const capacity = figure ? figure.capacity : r.capacity;
        return [figure ? String(figure.people) : 'not known', capacity ? String(capacity) : '', figure && capacity ? `${Math.floor(figure.people / capacity * 100)} %` : '', figure ? `${age(now - figure.at)} ago` : ''];
      }, (r) => model.occupancy(r, now)?.isStale ?? true), 2);
    this.body(this.matches.tBodies[0], model.matches, (m) => m.id, (m) => name(m.publication.deviceId, 60), (m) => [
      m.subscription.deviceId, m.publication.topic, Number.isFinite(m.distance) ? metres(m.distance) : '', time(m.createdAt),
    ], () => false);
  }
}

export {fillOf};
