// Draws the model on two canvases above the map: what seldom changes, and what moves.

import {
  worldX, worldY, longitudeOf, latitudeOf, parallelMetres, roundDown, graticuleStep, labelScales, overlaps,
} from './geometry.mjs';
import {matchShown} from './model.mjs';
import {metres, short} from './text.mjs';

/** Beyond so many devices trails and circles of accuracy would hide what they belong to. */
export const detailMax = 1500;
/** Beyond so many, names of devices would hide them; those that are shown go a little later, so that none flickers. */
const names = {max: 60, slack: 15};
const placesMax = 2000;

/** Room fills from empty to full; distinguished by lightness alone, so by everybody. */
export const fills = {
  light: ['#eef3f8', '#c6dbef', '#85bcdb', '#4292c6', '#1561a9', '#08306b'],
  dark: ['#1b2733', '#173a5e', '#1f5f93', '#3d8cc4', '#85bcdb', '#d8e9f6'],
};

/** Which fill a room has; 5 is full and beyond. */
export function fillOf({people, capacity}) {
  if (people <= 0) return 0;
  if (capacity) return Math.min(5, 1 + Math.floor((people / capacity) * 4));
  return people <= 2 ? 1 : people <= 5 ? 2 : people <= 10 ? 3 : people <= 20 ? 4 : 5;
}

export class Drawing {
  constructor(container, map) {
    this.map = map;
    [this.ground, this.live, this.figures] = ['ground', 'live', 'figures'].map((name) => {
      const canvas = document.createElement('canvas');
      canvas.className = `drawing ${name}`;
      canvas.setAttribute('aria-hidden', 'true');
      container.append(canvas);
      return canvas.getContext('2d', {alpha: true});
    });
    this.readColours();
    /** The devices whose names were drawn last. */
    this.named = new Set();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(['ink', 'soft', 'line', 'surface', 'accent', 'match', 'stale', 'place', 'select', 'casing', 'edge']
      .map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    /** All that has a size grows with the letters of the page, which grow with the screen. */
    this.em = parseFloat(style.fontSize) / 15;
    this.fills = matchMedia('(prefers-color-scheme: dark)').matches ? fills.dark : fills.light;
  }

  font(size, weight = 400) { return `${weight} ${Math.round(size * this.em)}px system-ui, sans-serif`; }

  /** Where the world is on the screen now. */
  measure() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const context of [this.ground, this.live, this.figures]) {
      const [width, height] = [Math.round(this.map.width * ratio), Math.round(this.map.height * ratio)];
      if (context.canvas.width !== width || context.canvas.height !== height) Object.assign(context.canvas, {width, height});
    }
    this.ratio = ratio;
    if (this.width !== this.map.width || this.height !== this.map.height) this.readColours();
    [this.width, this.height, this.scale] = [this.map.width, this.map.height, this.map.scale];
    [this.centerX, this.centerY] = [this.map.x, this.map.y];
    this.pixelsPerMetre = this.scale / Math.max(1, parallelMetres(this.map.latitude));
  }

  x(worldX) {
    let dx = worldX - this.centerX;
    dx -= Math.round(dx);
    return dx * this.scale + this.width / 2;
  }

  y(worldY) { return (worldY - this.centerY) * this.scale + this.height / 2; }

  /** The part of the world in view: left, top, right, bottom. */
  extent() {
    this.measure();
    const [dx, dy] = [this.width / 2 / this.scale, this.height / 2 / this.scale];
    return [this.centerX - dx, Math.max(0, this.centerY - dy), this.centerX + dx, Math.min(1, this.centerY + dy)];
  }

  toWorld({x, y}) {
    return [(x - this.width / 2) / this.scale + this.centerX, (y - this.height / 2) / this.scale + this.centerY];
  }

  begin(context) {
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
  }

  // What seldom changes

  drawGround(model, floor, now, tiles) {
    const context = this.ground;
    this.measure();
    this.begin(context);
    // What is written already, so that nothing else is written over it.
    this.taken = [];
    if (tiles) tiles.draw(context, this.map);
    else this.drawGraticule(context);
    for (const object of model.structure) {
      if (object.level === 'venue' || object.level === 'building') this.drawOutline(context, object, 'none', 1.5);
    }
    for (const storey of model.floors) {
      if (model.isOn(floor, storey.id, storey.floorIndex)) this.drawOutline(context, storey, this.colour.surface, 1.5);
    }
    const rooms = model.roomsOn(floor).map((room) => [room, model.occupancy(room, now)]);
    for (const [room, occupancy] of rooms) this.drawRoom(context, room, occupancy);
    // Over what is in the rooms, so that they can be read while they are full.
    this.begin(this.figures);
    for (const [room, occupancy] of rooms) this.drawFigure(this.figures, room, occupancy);
    this.drawPlaces(context, model.places);
    this.drawScale(context);
  }

  drawGraticule(context) {
    const [x0, y0, x1, y1] = this.extent();
    const step = graticuleStep(110 * this.em / this.scale * 360);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    context.strokeStyle = this.colour.line;
    context.fillStyle = this.colour.soft;
    context.lineWidth = this.em;
    context.font = this.font(11);
    context.beginPath();
    const {em} = this;
    const labels = [];
    for (let n = Math.ceil(longitudeOf(x0) / step); n * step <= longitudeOf(x1); n++) {
      const x = Math.round((worldX(n * step) - this.centerX) * this.scale + this.width / 2) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, this.height);
      const longitude = ((n * step + 540) % 360 + 360) % 360 - 180;
      labels.push([`${Math.abs(longitude).toFixed(digits)}° ${longitude < 0 ? 'W' : 'E'}`, x + 4 * em, 14 * em]);
    }
    for (let n = Math.ceil(latitudeOf(y1) / step); n * step <= latitudeOf(y0); n++) {
      const y = Math.round(this.y(worldY(n * step))) + 0.5;
      context.moveTo(0, y);
      context.lineTo(this.width, y);
      // Not below the buttons, nor over the scale.
      if (y > 110 * em && y < this.height - 40 * em) labels.push([`${Math.abs(n * step).toFixed(digits)}° ${n < 0 ? 'S' : 'N'}`, 6 * em, y - 4 * em]);
    }
    context.stroke();
    for (const [text, x, y] of labels) {
      context.fillText(text, x, y);
      this.taken.push([x, y - 11 * em, x + context.measureText(text).width, y + 3 * em]);
    }
  }

  path(context, rings) {
    context.beginPath();
    for (const ring of rings) {
      // Edges keep together however the world is turned.
      const shift = this.x(ring[0]) - (ring[0] - this.centerX) * this.scale - this.width / 2;
      for (let i = 0; i < ring.length; i += 2) {
        const x = (ring[i] - this.centerX) * this.scale + this.width / 2 + shift;
        if (i === 0) context.moveTo(x, this.y(ring[1]));
        else context.lineTo(x, this.y(ring[i + 1]));
      }
      context.closePath();
    }
  }

  isVisible({box, rings}) {
    if (!rings.length) return false;
    const [x0, x1] = [this.x(box[0]), this.x(box[2])];
    return Math.max(x0, x1) >= 0 && Math.min(x0, x1) <= this.width && this.y(box[3]) >= 0 && this.y(box[1]) <= this.height
      || box[2] - box[0] > 0.5;
  }

  drawOutline(context, object, fill, width) {
    if (!this.isVisible(object)) return;
    this.path(context, object.rings);
    if (fill !== 'none') {
      context.fillStyle = fill;
      context.fill('evenodd');
    }
    context.strokeStyle = this.colour.soft;
    context.lineWidth = width * this.em;
    context.stroke();
  }

  drawRoom(context, room, occupancy) {
    if (!this.isVisible(room)) return;
    const isKnown = occupancy && !occupancy.isStale;
    this.drawOutline(context, room, isKnown ? this.fills[fillOf(occupancy)] : this.colour.surface, 1);
    if (isKnown && occupancy.capacity && occupancy.people > occupancy.capacity) {
      context.strokeStyle = this.colour.ink;
      context.lineWidth = 4 * this.em;
      context.stroke();
    }
  }

  /** What a room is called and how many are in it, as far as there is room for it in the room. */
  drawFigure(context, room, occupancy) {
    if (!this.isVisible(room)) return;
    const [left, right] = [this.x(room.box[0]), this.x(room.box[2])];
    const [top, bottom] = [this.y(room.box[1]), this.y(room.box[3])];
    const [width, height] = [right - left, bottom - top];
    const {em} = this;
    if (width < 12 || height < 12 * em) return;
    const isKnown = occupancy && !occupancy.isStale;
    const fill = isKnown ? fillOf(occupancy) : 0;
    const isDark = this.fills === fills.dark;
    const ink = !isKnown ? this.colour.soft : isDark ? (fill >= 3 ? '#081018' : '#f2f6fa') : fill >= 4 ? '#fff' : '#10202e';
    const below = isKnown ? this.fills[fill] : this.colour.surface;
    context.textAlign = 'center';
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const {people, capacity} = occupancy ?? {};
    const over = capacity && people > capacity ? ' !' : '';
    const figures = !occupancy ? [] : !isKnown ? [`(${people})`] : [...(capacity ? [`${people} / ${capacity}${over}`] : []), people + over, `${people}`];
    const size = Math.max(11 * em, Math.min(22 * em, height / 3, width / 4));
    context.font = this.font(size / em, 600);
    const fits = (text) => context.measureText(text).width <= width - 2;
    const figure = figures.find(fits);
    const hasName = height > (figure ? 40 : 18) * em && width > 50 * em;
    if (figure) this.label(context, figure, x, y + size / 3 + (hasName ? size / 2 : 0), ink, below);
    if (hasName) {
      context.font = this.font(12);
      let name = short(room.name || room.id, 40);
      while (name.length > 1 && !fits(name)) name = short(name.replace('…', ''), [...name].length - 2);
      this.label(context, name, x, figure ? y - size / 2 + 2 * em : y + 4 * em, ink, below);
    }
    // As wide as any figure is, so that what is written beside it stays when the figure changes.
    const half = Math.min(width, Math.max(4 * size, hasName ? 100 * em : 0)) / 2;
    if (figure || hasName) this.taken.push([x - half, y - (hasName ? size + 8 * em : size), x + half, y + size]);
    context.textAlign = 'start';
  }

  drawPlaces(context, places) {
    const isNear = this.pixelsPerMetre > 0.25 * this.em;
    const {em} = this;
    const size = 4 * em;
    const boxes = [];
    context.font = this.font(12);
    if (isNear) this.measureNames(context, places);
    for (const place of places.slice(0, placesMax)) {
      if (place.rings.length) this.drawOutline(context, place, 'none', 1);
      const [x, y] = [this.x(place.x), this.y(place.y)];
      if (x < -250 * em || y < -20 * em || x > this.width + 50 * em || y > this.height + 20 * em) continue;
      context.fillStyle = this.colour.place;
      context.beginPath();
      context.moveTo(x, y - size);
      context.lineTo(x + size, y);
      context.lineTo(x, y + size);
      context.lineTo(x - size, y);
      context.fill();
      if (!isNear || this.scale < place.namedFrom) continue;
      const box = [x + place.nameBox[0], y + place.nameBox[1], x + place.nameBox[2], y + place.nameBox[3]];
      if (this.taken.some((other) => overlaps(box, other))) continue;
      this.label(context, short(place.name || place.id, 24), x + 7 * em, y + 4 * em, this.colour.place);
      boxes.push(box);
    }
    this.taken.push(...boxes);
  }

  /** Which places have room for their names is decided once, for all scales. */
  measureNames(context, places) {
    if (this.measured === places && this.measuredEm === this.em) return;
    [this.measured, this.measuredEm] = [places, this.em];
    const {em} = this;
    for (const place of places) place.nameBox = [-5 * em, -9 * em, context.measureText(short(place.name || place.id, 24)).width + 11 * em, 9 * em];
    const from = labelScales(places.map(({x, y, nameBox}) => ({x, y, box: nameBox})));
    places.forEach((place, i) => { place.namedFrom = from[i]; });
  }

  label(context, text, x, y, colour, below = this.colour.surface) {
    context.lineWidth = 3 * this.em;
    context.lineJoin = 'round';
    context.strokeStyle = below;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  drawScale(context) {
    const {em} = this;
    const length = roundDown(Math.min(140 * em, this.width / 3) / this.pixelsPerMetre);
    const pixels = length * this.pixelsPerMetre;
    const [x, y] = [12 * em, this.height - 14 * em];
    context.strokeStyle = this.colour.ink;
    context.lineWidth = 2 * em;
    context.beginPath();
    context.moveTo(x, y - 6 * em);
    context.lineTo(x, y);
    context.lineTo(x + pixels, y);
    context.lineTo(x + pixels, y - 6 * em);
    context.stroke();
    context.font = this.font(12);
    this.label(context, metres(length), x + 6 * em, y - 5 * em, this.colour.ink);
  }

  // What moves

  /** `look` has floor, selected (ids), isLost, now. */
  drawLive(model, look) {
    const context = this.live;
    this.begin(context);
    const shown = [];
    for (const device of model.devices.values()) {
      if (!model.isOn(look.floor, device.floor, device.floorIndex)) continue;
      device.px = this.x(device.x);
      device.py = this.y(device.y);
      if (device.px > -40 && device.py > -40 && device.px < this.width + 40 && device.py < this.height + 40) shown.push(device);
    }
    this.shown = shown;
    const isDetailed = shown.length <= detailMax;
    const radius = Math.round((shown.length > 5000 ? 2 : isDetailed ? 5 : 3) * this.em);
    const [fresh, stale] = [[], []];
    for (const device of shown) (look.isLost || model.isStale(device, look.now) ? stale : fresh).push(device);
    const selected = look.selected.length ? shown.filter((device) => look.selected.includes(device.id)) : [];
    if (!isDetailed) this.drawCrowd(context, [[stale, this.colour.stale], [fresh, this.colour.accent]], radius);
    for (const device of isDetailed ? shown : selected) {
      this.drawAccuracy(context, device, selected.includes(device));
      this.drawTrail(context, device);
    }
    for (const match of model.freshMatches(look.now)) this.drawMatch(context, match, look.now);
    if (isDetailed) {
      this.drawDots(context, stale, radius, true);
      this.drawDots(context, fresh, radius, false);
    }
    for (const device of selected) this.drawSelection(context, device, radius);
    this.drawCircumstances(context, model, look.now);
    this.hasNames = shown.length <= names.max + (this.hasNames ? names.slack : 0);
    this.drawNames(context, this.hasNames ? shown : selected, look.selected);
    return shown.length;
  }

  /** Names where there is room for them: those selected first, then those that were drawn before, so that none takes turns. */
  drawNames(context, devices, selected) {
    const {em} = this;
    context.font = this.font(12);
    const taken = [...(this.taken ?? [])];
    const rank = ({id}) => (selected.includes(id) ? 0 : this.named.has(id) ? 1 : 2);
    const order = devices.map((device) => [rank(device), device]).sort(([a, first], [b, second]) => a - b || (first.id < second.id ? -1 : 1));
    const named = new Set();
    for (const [place, device] of order) {
      const text = short(device.id, 24);
      const {width} = context.measureText(text);
      const boxAt = (dx, dy) => [device.px + dx, device.py + dy - 11 * em, device.px + dx + width, device.py + dy + 3 * em];
      const isFree = (wanted) => !taken.some((other) => overlaps(wanted, other));
      const spots = [boxAt(8 * em, -6 * em)];
      // One that is selected has its name in any case, where it covers least.
      if (place === 0) spots.push(boxAt(16 * em, 6 * em), boxAt(-16 * em - width, 6 * em), boxAt(-width / 2, 28 * em), boxAt(-width / 2, -18 * em));
      const box = spots.find(isFree) ?? spots[0];
      // One that comes anew needs some more room than one that stays.
      const spare = place === 2 ? 6 * em : 0;
      const needed = [box[0] - spare, box[1] - spare, box[2] + spare, box[3] + spare];
      if (place > 0 && !isFree(needed)) continue;
      taken.push(box);
      named.add(device.id);
      this.label(context, text, box[0], box[3] - 3 * em, this.colour.ink);
    }
    this.named = named;
  }

  /**
   * Thousands, in groups with a colour each: as squares, which look the same at this size, of whole pixels. They are written into one
   * picture, as so many calls of the canvas take several times as long.
   */
  drawCrowd(context, groups, radius) {
    const {width, height} = context.canvas;
    if (this.crowd?.width !== width || this.crowd.height !== height) this.crowd = new ImageData(width, height);
    const pixels = new Uint32Array(this.crowd.data.buffer);
    pixels.fill(0);
    const side = Math.round(2 * radius * this.ratio);
    for (const [devices, colour] of groups) {
      const value = this.pixel(context, colour);
      for (const {px, py} of devices) {
        const [left, top] = [Math.round((px - radius) * this.ratio), Math.round((py - radius) * this.ratio)];
        const [from, to] = [Math.max(0, left), Math.min(width, left + side)];
        if (from >= to) continue;
        for (let y = Math.max(0, top); y < Math.min(height, top + side); y++) pixels.fill(value, y * width + from, y * width + to);
      }
    }
    context.putImageData(this.crowd, 0, 0);
  }

  /** A colour as a picture has it. */
  pixel(context, colour) {
    context.fillStyle = colour;
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(context.fillStyle.slice(at, at + 2), 16));
    return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
  }

  drawDots(context, devices, radius, isStale) {
    context.fillStyle = isStale ? this.colour.surface : this.colour.accent;
    context.strokeStyle = isStale ? this.colour.stale : this.colour.surface;
    context.lineWidth = (isStale ? 1.5 : 1) * this.em;
    for (const device of devices) {
      context.beginPath();
      if (device.isGateway) context.rect(device.px - radius, device.py - radius, 2 * radius, 2 * radius);
      else context.arc(device.px, device.py, radius, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }

  drawAccuracy(context, {px, py, accuracy}, isSelected) {
    const radius = accuracy * this.pixelsPerMetre;
    if (radius < 7 * this.em || radius > 4000) return;
    context.beginPath();
    context.arc(px, py, radius, 0, 2 * Math.PI);
    context.globalAlpha = isSelected ? 0.25 : 0.1;
    context.fillStyle = this.colour.accent;
    context.fill();
    context.globalAlpha = 1;
  }

  drawTrail(context, device) {
    if (device.trailLength < 1) return;
    context.beginPath();
    for (let i = 0; i < device.trailLength; i++) context.lineTo(this.x(device.trail[2 * i]), this.y(device.trail[2 * i + 1]));
    context.lineTo(device.px, device.py);
    context.strokeStyle = this.colour.accent;
    context.globalAlpha = 0.45;
    context.lineWidth = 2 * this.em;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawMatch(context, match, now) {
    const [from, to] = [match.publication?.location, match.subscription?.location];
    if (!from || !to) return;
    const [x0, y0] = [this.x(worldX(from.longitude)), this.y(worldY(from.latitude))];
    const [x1, y1] = [this.x(worldX(to.longitude)), this.y(worldY(to.latitude))];
    const path = new Path2D();
    path.moveTo(x0, y0);
    path.lineTo(x1, y1);
    const isOver = match.event === 'ended';
    // Thinner while it grows old; paler, it could not be told from the ground.
    const width = (4 - 2 * Math.min(1, (now - match.shownAt) / matchShown)) * this.em;
    context.setLineDash(isOver ? [6 * this.em, 6 * this.em] : []);
    this.strokeMark(context, path, this.colour.match, this.colour.edge, width);
    context.setLineDash([]);
    const ends = new Path2D();
    for (const [x, y] of [[x0, y0], [x1, y1]]) {
      ends.moveTo(x + 9 * this.em, y);
      ends.arc(x, y, 9 * this.em, 0, 2 * Math.PI);
    }
    this.strokeMark(context, ends, this.colour.match, this.colour.edge, width);
  }

  /** What occurred to a device, for as long as a match is shown. */
  drawCircumstances(context, model, now) {
    context.font = this.font(13, 600);
    context.textAlign = 'center';
    for (const {deviceId, name, circumstanceId} of model.freshCircumstances(now)) {
      const device = model.devices.get(deviceId);
      // Those on other floors were not placed.
      if (!device || !this.shown.includes(device)) continue;
      const ring = new Path2D();
      ring.rect(device.px - 9 * this.em, device.py - 9 * this.em, 18 * this.em, 18 * this.em);
      this.strokeMark(context, ring, this.colour.match, this.colour.edge, 3 * this.em);
      this.label(context, short(name || circumstanceId, 40), device.px, device.py + 26 * this.em, this.colour.ink);
    }
    context.textAlign = 'start';
  }

  drawSelection(context, {px, py}, radius) {
    const path = new Path2D();
    path.arc(px, py, radius + 8 * this.em, 0, 2 * Math.PI);
    this.strokeMark(context, path, this.colour.select, this.colour.casing, 4 * this.em);
  }

  /** In a casing, so that it stands out from whatever lies below: one of the two does. */
  strokeMark(context, path, colour, casing, width) {
    for (const [style, wide] of [[casing, width + 3 * this.em], [colour, width]]) {
      context.strokeStyle = style;
      context.lineWidth = wide;
      context.stroke(path);
    }
  }

  /** The device nearest to a point, within reach of a finger. */
  deviceAt({x, y}, reach = 14 * this.em) {
    let [best, nearest] = [null, reach * reach];
    for (const device of this.shown ?? []) {
      const distance = (device.px - x) ** 2 + (device.py - y) ** 2;
      if (distance <= nearest) [best, nearest] = [device, distance];
    }
    return best;
  }

  placeAt({x, y}, places, reach = 10 * this.em) {
    return places.find((place) => Math.hypot(this.x(place.x) - x, this.y(place.y) - y) <= reach) ?? null;
  }
}
