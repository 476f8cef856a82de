// A piece of the world in an element: dragged, pinched, turned by wheel and keys. What is drawn in it is drawn elsewhere.

import {worldX, worldY, latitudeOf, longitudeOf} from './geometry.mjs';

export const zoomMax = 24;
const clickMoves = 6;

export class WorldMap {
  /** `listener` has moved(), rested() and clicked({x, y}, isShift). */
  constructor(element, listener) {
    this.element = element;
    this.listener = listener;
    this.pointers = new Map();
    [this.x, this.y, this.zoom] = [0.5, worldY(20), 2];
    this.measure();
    new ResizeObserver(() => { this.measure(); this.changed(); }).observe(element);
    element.addEventListener('pointerdown', (event) => this.down(event));
    element.addEventListener('pointermove', (event) => this.move(event));
    for (const kind of ['pointerup', 'pointercancel']) element.addEventListener(kind, (event) => this.up(event));
    element.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    element.addEventListener('dblclick', (event) => this.zoomBy(1, this.pointOf(event)));
    element.addEventListener('keydown', (event) => this.key(event));
  }

  measure() { [this.width, this.height] = [this.element.clientWidth, this.element.clientHeight]; }

  get scale() { return 256 * 2 ** this.zoom; }
  get latitude() { return latitudeOf(this.y); }
  get longitude() { return longitudeOf(this.x); }

  set(latitude, longitude, zoom = this.zoom) { this.place(worldX(longitude), worldY(latitude), zoom); }

  /** As near as shows a box of the world whole. */
  fit([x0, y0, x1, y1], nearest = 21.5) {
    const share = 0.9;
    const zoom = Math.log2(Math.min(this.width / (x1 - x0), this.height / (y1 - y0)) * share / 256);
    this.place((x0 + x1) / 2, (y0 + y1) / 2, Math.min(zoom, nearest));
  }

  place(x, y, zoom) {
    // The world is no smaller than the screen is wide, and has edges at the poles only.
    const least = Math.max(0, Math.log2(Math.max(this.width, 1) / 256) - 1);
    this.zoom = Math.min(zoomMax, Math.max(least, zoom));
    this.x = x - Math.floor(x);
    this.y = Math.min(1, Math.max(0, y));
    this.changed();
  }

  panBy(dx, dy) { this.place(this.x + dx / this.scale, this.y + dy / this.scale, this.zoom); }

  /** What is at the point stays there. */
  zoomBy(steps, point = {x: this.width / 2, y: this.height / 2}) {
    const [dx, dy] = [point.x - this.width / 2, point.y - this.height / 2];
    const before = this.scale;
    const zoom = Math.min(zoomMax, this.zoom + steps);
    const after = 256 * 2 ** zoom;
    this.place(this.x + dx / before - dx / after, this.y + dy / before - dy / after, zoom);
  }

  changed() {
    this.listener.moved();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.listener.rested(), 250);
  }

  pointOf(event) {
    const box = this.element.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  down(event) {
    if (event.button > 0 || event.target.closest('button')) return;
    this.element.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.pointOf(event));
    this.travelled = this.pointers.size === 1 ? 0 : Infinity;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const point = this.pointOf(event);
    const [dx, dy] = [point.x - before.x, point.y - before.y];
    if (this.pointers.size === 1) {
      this.travelled += Math.hypot(dx, dy);
      if (this.travelled < clickMoves) return;
      this.panBy(-dx, -dy);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = (a, b) => Math.max(20, Math.hypot(a.x - b.x, a.y - b.y));
      this.panBy(-dx / 2, -dy / 2);
      this.zoomBy(Math.log2(distance(point, other) / distance(before, other)), {x: (point.x + other.x) / 2, y: (point.y + other.y) / 2});
    }
    this.pointers.set(event.pointerId, point);
  }

  up(event) {
    const point = this.pointers.get(event.pointerId);
    if (!point) return;
    this.pointers.delete(event.pointerId);
    if (event.type === 'pointerup' && this.travelled < clickMoves) this.listener.clicked(point, event.shiftKey);
  }

  wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    this.zoomBy(Math.max(-1, Math.min(1, -pixels / (event.ctrlKey ? 60 : 240))), this.pointOf(event));
  }

  key(event) {
    const step = 80;
    const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]};
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.panBy(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') this.zoomBy(1);
    else if (event.key === '-') this.zoomBy(-1);
    else return;
    event.preventDefault();
  }
}

/** Pictures of the world below the data, where the daemon's configuration says from where. */
export class Tiles {
  constructor(url, loaded) {
    this.url = url;
    this.loaded = loaded;
    this.images = new Map();
  }

  static kept = 400;

  /** The tile's picture; null until it is there. */
  image(zoom, column, row) {
    const turns = 2 ** zoom;
    const x = ((column % turns) + turns) % turns;
    const key = `${zoom}/${x}/${row}`;
    let image = this.images.get(key);
    if (!image) {
      image = new Image();
      image.referrerPolicy = 'no-referrer';
      image.onload = this.loaded;
      image.src = this.url.replace('{z}', zoom).replace('{x}', x).replace('{y}', row).replace('{s}', 'abc'[(x + row) % 3]);
      this.images.set(key, image);
      if (this.images.size > Tiles.kept) this.images.delete(this.images.keys().next().value);
    }
    return image.complete && image.naturalWidth ? image : null;
  }

  draw(context, map) {
    const zoom = Math.max(0, Math.min(19, Math.round(map.zoom)));
    const size = map.scale / 2 ** zoom;
    const [left, top] = [map.width / 2 - map.x * map.scale, map.height / 2 - map.y * map.scale];
    for (let row = Math.max(0, Math.floor(-top / size)); row < 2 ** zoom && top + row * size < map.height; row++) {
      for (let column = Math.floor(-left / size); left + column * size < map.width; column++) {
        const image = this.image(zoom, column, row);
        if (image) context.drawImage(image, left + column * size, top + row * size, size + 0.5, size + 0.5);
      }
    }
  }
}
