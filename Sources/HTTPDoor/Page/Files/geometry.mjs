// Web Mercator without a map: the world is a square from 0 to 1.

export const latitudeMax = 85.05112878;

export const worldX = (longitude) => longitude / 360 + 0.5;

export function worldY(latitude) {
  const phi = Math.max(-latitudeMax, Math.min(latitudeMax, latitude)) * Math.PI / 180;
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + phi / 2)) / (2 * Math.PI);
}

export const latitudeOf = (y) => (2 * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - Math.PI / 2) * 180 / Math.PI;
export const longitudeOf = (x) => (x - 0.5) * 360;

/** Metres across a whole turn of the parallel. */
export const parallelMetres = (latitude) => 40075016.686 * Math.cos(latitude * Math.PI / 180);

/** A ring of positions in the world; each edge goes the shorter way round. */
export function worldRing(coordinates) {
  const ring = new Float64Array(coordinates.length * 2);
  let last = null;
  coordinates.forEach(([longitude, latitude], i) => {
    let x = worldX(longitude);
    if (last !== null) x -= Math.round(x - last);
    last = x;
    ring[2 * i] = x;
    ring[2 * i + 1] = worldY(latitude);
  });
  return ring;
}

/** The rings of a GeoJSON Polygon or MultiPolygon in the world. */
export function worldRings(outline) {
  const polygons = outline?.type === 'Polygon' ? [outline.coordinates]
    : outline?.type === 'MultiPolygon' ? outline.coordinates : [];
  return polygons.flat().map(worldRing);
}

export function boxOf(rings) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const ring of rings) {
    for (let i = 0; i < ring.length; i += 2) {
      box[0] = Math.min(box[0], ring[i]);
      box[1] = Math.min(box[1], ring[i + 1]);
      box[2] = Math.max(box[2], ring[i]);
      box[3] = Math.max(box[3], ring[i + 1]);
    }
  }
  return box;
}

/** By the even-odd rule, so that holes are outside. */
export function contains(rings, x, y) {
  let inside = false;
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
      if (ring[i + 1] > y !== ring[j + 1] > y
        && x < ((ring[j] - ring[i]) * (y - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]) inside = !inside;
    }
  }
  return inside;
}

/** `[w, s, e, n]` of a part of the world, made larger by a share on each side; all of it where it goes round. */
export function bbox([x0, y0, x1, y1], margin = 0) {
  const [dx, dy] = [(x1 - x0) * margin, (y1 - y0) * margin];
  const wrap = (x) => longitudeOf(x - Math.floor(x));
  const south = y1 + dy >= 1 ? -90 : latitudeOf(y1 + dy);
  const north = y0 - dy <= 0 ? 90 : latitudeOf(y0 - dy);
  const round = x1 - x0 + 2 * dx >= 1;
  return [round ? -180 : wrap(x0 - dx), south, round ? 180 : wrap(x1 + dx), north].map((v) => Math.round(v * 1e7) / 1e7);
}

/**
 * From which scale on each of some labels has room beside those before it. `labels` are {x, y, box: [left, top, right, bottom]}, the box in
 * pixels around the point. One that is shown stays however near one comes, and wherever the map lies: nothing flickers.
 */
export function labelScales(labels) {
  const from = new Float64Array(labels.length);
  const apart = (distance, before, after) => (distance > 0 ? before / distance : distance < 0 ? after / -distance : Infinity);
  for (let i = 0; i < labels.length; i++) {
    const {x, y, box: [left, top, right, bottom]} = labels[i];
    for (let j = 0; j < i; j++) {
      const {x: otherX, y: otherY, box} = labels[j];
      const scale = Math.min(apart(otherX - x, right - box[0], box[2] - left), apart(otherY - y, bottom - box[1], box[3] - top));
      // Below this scale the two overlap, where the other one is shown.
      if (scale > from[j] && scale > from[i]) from[i] = scale;
    }
  }
  return from;
}

export const overlaps = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** The greatest of 1, 2, 5 × 10ⁿ that is not above a value. */
export function roundDown(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [5, 2, 1].find((step) => step * power <= value * (1 + 1e-9));
}

/** Degrees between lines that are at least so many degrees apart. */
export function graticuleStep(least) {
  return [1, 2, 5, 10, 15, 30].find((step) => least > 0.5 && step >= least) ?? (least > 0.5 ? 30 : 1 / roundDown(1 / Math.max(least, 1e-6)));
}
