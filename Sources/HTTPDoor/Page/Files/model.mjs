// What is known of the part of the dataset that is looked at. It draws nothing and waits for nothing.

import {worldX, worldY, worldRings, boxOf, contains} from './geometry.mjs';

export const limits = {devices: 20000, states: 40000, list: 100, trail: 40};
/** A position, or figures of a room, so old is drawn as old. */
export const staleAfter = {device: 5 * 60e3, room: 15 * 60e3};
const trailSeconds = 4;
const trailKept = 3 * 60e3;
export const matchShown = 10e3;

const natural = new Intl.Collator(undefined, {numeric: true}).compare;

const holds = ({box, rings}, x, y) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3] && contains(rings, x, y);

export class Model {
  constructor() {
    this.structure = [];
    this.floors = [];
    this.rooms = new Map();
    this.places = [];
    this.types = new Map();
    this.clear();
  }

  /** Nothing that was known by a connection outlives it. */
  clear() {
    this.devices = new Map();
    /** Of anything but positions, by topic. */
    this.states = new Map();
    this.figures = new Map();
    /** Who reports sightings, which may come before a position does. */
    this.gateways = new Set();
    this.omitted = 0;
    this.generation = 0;
    this.matches = [];
    this.circumstances = [];
    this.diagnostics = [];
    this.seen = new Set();
  }

  // Structure

  setStructure(objects) {
    this.structure = objects.map((object) => {
      const rings = worldRings(object.outline);
      const levels = [...['venue', 'building', 'floor', 'room'].flatMap((level) => object.parents[level] ?? []), object.id];
      return {...object, rings, box: boxOf(rings), key: levels.join('/')};
    });
    this.floors = this.structure.filter((object) => object.level === 'floor')
      .sort((a, b) => (b.floorIndex ?? 0) - (a.floorIndex ?? 0));
    const names = new Map(this.structure.map((object) => [object.key, object.name || object.id]));
    const indices = new Map(this.floors.map((floor) => [floor.key, floor.floorIndex]));
    const rooms = this.structure.filter((object) => object.level === 'room').map((room) => {
      const levels = room.key.split('/').slice(0, -1);
      const paths = levels.map((_, i) => levels.slice(0, i + 1).join('/'));
      const floorKey = room.parents.floor ? paths.at(-1) : null;
      const above = paths.map((path, i) => names.get(path) ?? levels[i]);
      return {...room, floorKey, house: above.slice(0, floorKey ? -1 : undefined).join(', '), storey: floorKey ? above.at(-1) : null,
        storeyIndex: indices.get(floorKey) ?? null};
    });
    // House by house and from the top down, as the choice of floors is.
    rooms.sort((a, b) => natural(a.house, b.house) || (b.storeyIndex ?? -Infinity) - (a.storeyIndex ?? -Infinity) || natural(a.storey ?? '', b.storey ?? '')
      || natural(a.name || a.id, b.name || b.id) || natural(a.key, b.key));
    this.rooms = new Map(rooms.map((room) => [room.key, room]));
  }

  /** Rooms, in their order, by the floors they are on: [{key, title, rooms}]. */
  byFloor(rooms) {
    const groups = [];
    for (const room of rooms) {
      const key = [room.house, room.floorKey, room.storey].join('\n');
      if (groups.at(-1)?.key !== key) {
        groups.push({key, title: [room.house, room.storey === null ? 'no floor' : `floor ${room.storey}`].filter(Boolean).join(', '), rooms: []});
      }
      groups.at(-1).rooms.push(room);
    }
    return groups;
  }

  /** One entry for each floor that has a name of its own, from the top down. */
  floorChoices() {
    const choices = new Map();
    for (const floor of this.floors) if (!choices.has(floor.id)) choices.set(floor.id, floor);
    return [...choices.values()];
  }

  /** The floor meant: the one named, else the lowest that is not below ground. */
  floor(id) {
    const choices = this.floorChoices();
    return choices.find((floor) => floor.id === id)
      ?? choices.findLast((floor) => (floor.floorIndex ?? 0) >= 0) ?? choices.at(-1) ?? null;
  }

  /** Whether something with a floor, or its index, is on the floor looked at; what has neither is on all. */
  isOn(floor, id, index) {
    if (!floor) return true;
    if (Number.isInteger(index) && Number.isInteger(floor.floorIndex)) return index === floor.floorIndex;
    return !id || id === '-' || id === floor.id;
  }

  roomsOn(floor) {
    return [...this.rooms.values()].filter((room) => this.isOn(floor, room.parents.floor, room.storeyIndex));
  }

  roomAt(x, y, floor) { return this.roomsOn(floor).find((room) => holds(room, x, y)); }

  /** Whether a device is in a room by its position, on the room's floor. */
  isIn(room, {x, y, floor, floorIndex}) {
    return holds(room, x, y) && this.isOn(this.floors.find(({key}) => room.key.startsWith(`${key}/`)) ?? null, floor, floorIndex);
  }

  /** A new part is looked at; what is not said again is dropped by `prune`. */
  beginView() { return ++this.generation; }

  prune() {
    for (const [id, device] of this.devices) if (device.generation < this.generation) this.devices.delete(id);
    for (const [topic, state] of this.states) if (state.generation < this.generation) this.dropState(topic);
  }

  // Live updates

  apply(update) {
    // Nearly all there is, when thousands move.
    const known = this.devices.get(update.itemId);
    if (known && known.topic === update.topic) return this.applyPosition(update, known.levels);
    const levels = update.topic.split('/');
    const domain = levels[6];
    if (domain === 'position') return this.applyPosition(update, levels);
    if (update.left) return this.dropState(update.topic);
    if (!this.states.has(update.topic) && this.states.size >= limits.states) return void this.omitted++;
    this.states.set(update.topic, {update, generation: this.generation});
    if (domain === 'occupancy' && levels[5] === '-') {
      const key = levels.slice(1, 5).filter((level) => level !== '-').map(decodeLevel).join('/');
      this.figures.set(key, {people: update.properties.nrOfPeople, capacity: update.properties.capacity, at: update.timestamp});
    } else if (domain === 'proximity') {
      const id = decodeLevel(levels[5]);
      this.gateways.add(id);
      const device = this.devices.get(id);
      if (device) device.isGateway = true;
    }
  }

  dropState(topic) {
    this.states.delete(topic);
    const levels = topic.split('/');
    if (levels[6] === 'occupancy') this.figures.delete(levels.slice(1, 5).filter((l) => l !== '-').map(decodeLevel).join('/'));
    else if (levels[6] === 'proximity') this.gateways.delete(decodeLevel(levels[5]));
  }

  applyPosition(update, levels) {
    const id = update.itemId ?? decodeLevel(levels[5]);
    let device = this.devices.get(id);
    if (update.left) {
      // One that moved to another topic is there already.
      if (device?.topic === update.topic) this.devices.delete(id);
      return;
    }
    if (!device) {
      if (this.devices.size >= limits.devices) return void this.omitted++;
      device = {id, trail: null, trailLength: 0, trailAt: 0, isGateway: this.gateways.has(id)};
      this.devices.set(id, device);
    }
    const properties = update.properties;
    device.topic = update.topic;
    device.levels = levels;
    device.properties = properties;
    device.latitude = properties.latitude;
    device.longitude = properties.longitude;
    device.x = worldX(properties.longitude);
    device.y = worldY(properties.latitude);
    device.accuracy = properties.horizontalAccuracy ?? 0;
    device.floor = levels[3] === '-' ? null : decodeLevel(levels[3]);
    device.floorIndex = properties.floorIndex;
    device.at = update.timestamp;
    device.generation = this.generation;
    if (device.at - device.trailAt >= trailSeconds * 1000 || device.at < device.trailAt) extendTrail(device);
  }

  /** What devices left behind them, as long as it is shown. */
  trimTrails(now) {
    for (const device of this.devices.values()) {
      if (device.trailLength > 0 && now - device.trailAt > trailKept) device.trailLength = 0;
    }
  }

  isStale(device, now) {
    return now - device.at > staleAfter.device && this.types.get(device.id) !== 'PinDevice';
  }

  /** How full a room is; null where nobody knows by now. */
  occupancy(room, now) {
    const figure = this.figures.get(room.key);
    if (!figure) return null;
    const capacity = figure.capacity ?? room.capacity ?? null;
    return {people: figure.people, capacity, at: figure.at, isStale: now - figure.at > staleAfter.room};
  }

  /** What else is known below some levels, such as the air of a room. */
  statesOf(levels) {
    const found = [];
    for (const {update} of this.states.values()) {
      const own = update.topic.split('/').slice(1, 6).map(decodeLevel);
      if (levels.every((level, i) => own[i] === level)) found.push(update);
    }
    return found;
  }

  // Messages

  /** Each has an id of its own and may come twice. */
  isNew(id) {
    if (this.seen.has(id)) return false;
    this.seen.add(id);
    if (this.seen.size > 1000) this.seen.delete(this.seen.values().next().value);
    return true;
  }

  applyMatch(match, now) {
    if (!this.isNew(match.id)) return;
    keep(this.matches, {...match, isFresh: now - match.createdAt < matchShown, shownAt: now});
  }

  applyCircumstance(event, now) {
    if (this.isNew(event.incidentId)) keep(this.circumstances, {...event, isFresh: now - event.timestamp < matchShown, shownAt: now});
  }

  applyDiagnostic(kind, diagnostic, now) { keep(this.diagnostics, {...diagnostic, kind, at: now}); }

  freshMatches(now) { return fresh(this.matches, now); }

  /** Those that occurred to a device just now. */
  freshCircumstances(now) { return fresh(this.circumstances, now).filter(({deviceId, error}) => deviceId && !error); }

  /** Devices and rooms whose id or name has some text, those that begin with it first. */
  search(text, most = 8) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found = [];
    const consider = (kind, id, label, target) => {
      const place = Math.min(...[id, label].map((t) => { const i = String(t ?? '').toLowerCase().indexOf(wanted); return i < 0 ? Infinity : i; }));
      if (place < Infinity) found.push({kind, id, label: label || id, target, place});
    };
    for (const device of this.devices.values()) consider('device', device.id, device.id, device);
    for (const object of this.structure) if (object.rings.length) consider(object.level, object.id, object.name, object);
    for (const place of this.places) consider('place', place.id, place.name, place);
    return found.sort((a, b) => a.place - b.place || (String(a.label) < String(b.label) ? -1 : 1)).slice(0, most);
  }
}

const fresh = (list, now) => list.filter(({isFresh, shownAt}) => isFresh && now - shownAt < matchShown);

function keep(list, item) {
  list.unshift(item);
  if (list.length > limits.list) list.length = limits.list;
}

/** The newest last; a ring would save nothing at this length. */
function extendTrail(device) {
  device.trail ??= new Float64Array(limits.trail * 2);
  if (device.trailLength === limits.trail) {
    device.trail.copyWithin(0, 2);
    device.trailLength -= 1;
  }
  device.trail[device.trailLength * 2] = device.x;
  device.trail[device.trailLength * 2 + 1] = device.y;
  device.trailLength += 1;
  device.trailAt = device.at;
}

export function decodeLevel(level) {
  if (!level.includes('%')) return level;
  try { return decodeURIComponent(level); } catch { return level; }
}
