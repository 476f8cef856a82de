// Draws the model on two canvases above the map: what seldom changes, and what moves.

import {worldX, worldY, longitudeOf, latitudeOf, parallelMetres, roundDown, graticuleStep} from './geometry.mjs';
import {matchShown} from './model.mjs';
import {metres, short} from './text.mjs';

/** Beyond so many devices trails and circles of accuracy would hide what they belong to. */
export const detailMax = 1500;
const namesMax = 60;
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
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(['ink', 'soft', 'line', 'surface', 'accent', 'match', 'stale', 'place', 'select']
      .map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    /** Larger letters on a wall. */
    this.em = (parseFloat(style.fontSize) / 15) * (document.body.classList.contains('kiosk') ? 1.5 : 1);
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
    this.taken = [];
    this.begin(this.figures);
    for (const [room, occupancy] of rooms) this.drawFigure(this.figures, room, occupancy);
    this.drawPlaces(context, model.places);
    this.drawScale(context);
  }

  drawGraticule(context) {
    const [x0, y0, x1, y1] = this.extent();
    const step = graticuleStep(110 / this.scale * 360);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    context.strokeStyle = this.colour.line;
    context.fillStyle = this.colour.soft;
    context.lineWidth = 1;
    context.font = this.font(11);
    context.beginPath();
    const labels = [];
    for (let n = Math.ceil(longitudeOf(x0) / step); n * step <= longitudeOf(x1); n++) {
      const x = Math.round((worldX(n * step) - this.centerX) * this.scale + this.width / 2) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, this.height);
      const longitude = ((n * step + 540) % 360 + 360) % 360 - 180;
      labels.push([`${Math.abs(longitude).toFixed(digits)}° ${longitude < 0 ? 'W' : 'E'}`, x + 4, 14]);
    }
    for (let n = Math.ceil(latitudeOf(y1) / step); n * step <= latitudeOf(y0); n++) {
      const y = Math.round(this.y(worldY(n * step))) + 0.5;
      context.moveTo(0, y);
      context.lineTo(this.width, y);
      // Not below the buttons, nor over the scale.
      if (y > 110 && y < this.height - 40) labels.push([`${Math.abs(n * step).toFixed(digits)}° ${n < 0 ? 'S' : 'N'}`, 6, y - 4]);
    }
    context.stroke();
    for (const [text, x, y] of labels) context.fillText(text, x, y);
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
    context.lineWidth = width;
    context.stroke();
  }

  drawRoom(context, room, occupancy) {
    if (!this.isVisible(room)) return;
    const isKnown = occupancy && !occupancy.isStale;
    this.drawOutline(context, room, isKnown ? this.fills[fillOf(occupancy)] : this.colour.surface, 1);
    if (isKnown && occupancy.capacity && occupancy.people > occupancy.capacity) {
      context.strokeStyle = this.colour.match;
      context.lineWidth = 3;
      context.stroke();
    }
  }

  drawFigure(context, room, occupancy) {
    if (!this.isVisible(room)) return;
    const [left, right] = [this.x(room.box[0]), this.x(room.box[2])];
    const [top, bottom] = [this.y(room.box[1]), this.y(room.box[3])];
    const [width, height] = [right - left, bottom - top];
    if (width < 16 || height < 12) return;
    const isKnown = occupancy && !occupancy.isStale;
    const fill = isKnown ? fillOf(occupancy) : 0;
    const isDark = this.fills === fills.dark;
    const ink = !isKnown ? this.colour.soft : isDark ? (fill >= 3 ? '#081018' : '#f2f6fa') : fill >= 4 ? '#fff' : '#10202e';
    const below = isKnown ? this.fills[fill] : this.colour.surface;
    context.textAlign = 'center';
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const figure = !occupancy ? '' : isKnown
      ? `${occupancy.people}${occupancy.capacity && width > 44 ? ` / ${occupancy.capacity}` : ''}${occupancy.people > occupancy.capacity && occupancy.capacity ? ' !' : ''}` : `(${occupancy.people})`;
    const size = Math.max(11, Math.min(22 * this.em, height / 3, width / 4));
    const hasName = height > 40 && width > 50;
    context.font = this.font(size / this.em, 600);
    if (figure) this.taken.push([x - size * figure.length / 3, y - size, x + size * figure.length / 3, y + size]);
    if (figure) this.label(context, figure, x, y + size / 3 + (hasName ? size / 2 : 0), ink, below);
    if (hasName) {
      context.font = this.font(12);
      this.label(context, short(room.name || room.id, Math.floor(width / 7)), x, figure ? y - size / 2 + 2 : y + 4, ink, below);
    }
    context.textAlign = 'start';
  }

  drawPlaces(context, places) {
    const isNear = this.pixelsPerMetre > 0.25;
    context.fillStyle = this.colour.place;
    context.font = this.font(12);
    let named = 0;
    for (const place of places.slice(0, placesMax)) {
      if (place.rings.length) this.drawOutline(context, place, 'none', 1);
      const [x, y] = [this.x(place.x), this.y(place.y)];
      if (x < -50 || y < -20 || x > this.width + 50 || y > this.height + 20) continue;
      context.fillStyle = this.colour.place;
      context.beginPath();
      context.moveTo(x, y - 4);
      context.lineTo(x + 4, y);
      context.lineTo(x, y + 4);
      context.lineTo(x - 4, y);
      context.fill();
      if (isNear && named++ < namesMax) this.label(context, short(place.name || place.id, 24), x + 7, y + 4, this.colour.place);
    }
  }

  label(context, text, x, y, colour, below = this.colour.surface) {
    context.lineWidth = 3;
    context.lineJoin = 'round';
    context.strokeStyle = below;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  drawScale(context) {
    const length = roundDown(Math.min(140, this.width / 3) / this.pixelsPerMetre);
    const pixels = length * this.pixelsPerMetre;
    const [x, y] = [12, this.height - 14];
    context.strokeStyle = this.colour.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y - 6);
    context.lineTo(x, y);
    context.lineTo(x + pixels, y);
    context.lineTo(x + pixels, y - 6);
    context.stroke();
    context.font = this.font(12);
    this.label(context, metres(length), x + 6, y - 5, this.colour.ink);
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
    for (const device of shown) {
      const isSelected = look.selected.includes(device.id);
      if (isDetailed || isSelected) this.drawAccuracy(context, device, isSelected);
      if (isDetailed || isSelected) this.drawTrail(context, device);
    }
    for (const match of model.freshMatches(look.now)) this.drawMatch(context, match, look.now);
    const radius = shown.length > 5000 ? 2 : shown.length > detailMax ? 3 : 5;
    const [fresh, stale] = [[], []];
    for (const device of shown) (look.isLost || model.isStale(device, look.now) ? stale : fresh).push(device);
    this.drawDots(context, stale, radius, true);
    this.drawDots(context, fresh, radius, false);
    for (const device of shown) if (look.selected.includes(device.id)) this.drawSelection(context, device, radius);
    if (shown.length <= namesMax) this.drawNames(context, shown, look.selected);
    return shown.length;
  }

  /** Names where there is room for them, those selected first. */
  drawNames(context, shown, selected) {
    context.font = this.font(12);
    const taken = [...(this.taken ?? [])];
    const order = [...shown].sort((a, b) => selected.includes(b.id) - selected.includes(a.id) || (a.id < b.id ? -1 : 1));
    for (const device of order) {
      const text = short(device.id, 24);
      const [x, y] = [device.px + 8, device.py - 6];
      const box = [x, y - 11 * this.em, x + context.measureText(text).width, y + 3];
      const isFree = taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
      if (!isFree && !selected.includes(device.id)) continue;
      taken.push(box);
      this.label(context, text, x, y, this.colour.ink);
    }
  }

  drawDots(context, devices, radius, isStale) {
    context.fillStyle = isStale ? this.colour.surface : this.colour.accent;
    context.strokeStyle = isStale ? this.colour.stale : this.colour.surface;
    context.lineWidth = isStale ? 1.5 : 1;
    if (radius < 5) {
      // Thousands: squares are much cheaper than circles, and look the same at this size.
      if (isStale) context.fillStyle = this.colour.stale;
      for (const {px, py} of devices) context.fillRect(px - radius, py - radius, 2 * radius, 2 * radius);
      return;
    }
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
    if (radius < 7 || radius > 4000) return;
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
    context.lineWidth = 2;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawMatch(context, match, now) {
    const [from, to] = [match.publication?.location, match.subscription?.location];
    if (!from || !to) return;
    const [x0, y0] = [this.x(worldX(from.longitude)), this.y(worldY(from.latitude))];
    const [x1, y1] = [this.x(worldX(to.longitude)), this.y(worldY(to.latitude))];
    context.globalAlpha = Math.max(0.25, 1 - (now - match.shownAt) / matchShown);
    context.strokeStyle = context.fillStyle = this.colour.match;
    context.lineWidth = 3;
    context.setLineDash(match.event === 'ended' ? [4, 6] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.setLineDash([]);
    for (const [x, y] of [[x0, y0], [x1, y1]]) {
      context.beginPath();
      context.arc(x, y, 9, 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawSelection(context, {px, py}, radius) {
    context.strokeStyle = this.colour.select;
    context.lineWidth = 3;
    context.beginPath();
    context.arc(px, py, radius + 6, 0, 2 * Math.PI);
    context.stroke();
  }

  /** The device nearest to a point, within reach of a finger. */
  deviceAt({x, y}, reach = 14) {
    let [best, nearest] = [null, reach * reach];
    for (const device of this.shown ?? []) {
      const distance = (device.px - x) ** 2 + (device.py - y) ** 2;
      if (distance <= nearest) [best, nearest] = [device, distance];
    }
    return best;
  }

  placeAt({x, y}, places, reach = 10) {
    return places.find((place) => Math.hypot(this.x(place.x) - x, this.y(place.y) - y) <= reach) ?? null;
  }
}
