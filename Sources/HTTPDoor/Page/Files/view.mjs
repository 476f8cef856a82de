// What is looked at, as it is in the address: #dataset/zoom/lat/lon/floor

const decode = (part) => {
  try { return decodeURIComponent(part); } catch { return part; }
};

export function parseView(hash) {
  const parts = hash.replace(/^#/, '').split('/').map(decode);
  const view = {dataset: parts[0] || null, zoom: null, lat: null, lon: null, floor: parts[4] || null};
  const [zoom, lat, lon] = parts.slice(1, 4).map((part) => (part === '' ? NaN : Number(part)));
  if ([zoom, lat, lon].every(Number.isFinite) && Math.abs(lat) <= 90) {
    view.zoom = Math.min(Math.max(zoom, 0), 24);
    view.lat = lat;
    view.lon = lon;
  }
  return view;
}

export function formatView({dataset, zoom, lat, lon, floor}) {
  if (!dataset) return '';
  let hash = '#' + encodeURIComponent(dataset);
  if (zoom === null || zoom === undefined) return hash;
  const digits = Math.min(7, Math.max(2, Math.round(zoom / 3)));
  hash += `/${Math.round(zoom * 100) / 100}/${lat.toFixed(digits)}/${lon.toFixed(digits)}`;
  return floor ? `${hash}/${encodeURIComponent(floor)}` : hash;
}

/** What the address asks besides: whose eyes, and whether it is a wall display. */
export function parseOptions(search) {
  const parameters = new URLSearchParams(search);
  return {client: parameters.get('client'), kiosk: parameters.has('kiosk')};
}
