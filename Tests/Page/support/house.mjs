// A house of two floors with three rooms each, a café, and two phones.

const [latitude, longitude] = [43.73, 7.42];
const [north, east] = [1 / 111195, 1 / 80355];

export const at = (x, y) => ({latitude: latitude + y * north, longitude: longitude + x * east});

const ring = (x0, y0, x1, y1) => ({type: 'Polygon', coordinates: [[[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]]
  .map(([x, y]) => [at(x, y).longitude, at(x, y).latitude])]});
const feature = (properties, geometry) => ({type: 'Feature', properties, geometry});

export function structure() {
  const features = [feature({level: 'venue', id: 'v', name: 'Venue'}, ring(-20, -20, 50, 30)), feature({level: 'building', id: 'h', parents: ['v']}, ring(0, 0, 30, 10))];
  for (const floor of ['0', '1']) {
    features.push(feature({level: 'floor', id: floor, parents: ['v', 'h'], floorIndex: Number(floor)}, ring(0, 0, 30, 10)));
    ['a', 'b', 'c'].forEach((id, i) => features.push(feature({level: 'room', id, name: `Room ${id}${floor}`, capacity: 4, parents: ['v', 'h', floor]}, ring(10 * i, 0, 10 * i + 10, 10))));
  }
  return {structure: {type: 'FeatureCollection', features}};
}

/** Built by requests, as anybody would. */
export async function build(daemon) {
  await daemon.ask('dataset/import', structure(), {client: 'admin'});
  await daemon.ask('device/create', {deviceType: 'PinDevice', id: 'cafe', location: at(5, 5)});
  for (const id of ['phone', 'other']) await daemon.ask('device/create', {deviceType: 'MobileDevice', id});
  await daemon.ask('publication/create', {id: 'offer', deviceId: 'cafe', topic: 'coffee', range: 3, duration: 86400, properties: {price: 3}});
  await daemon.ask('subscription/create', {id: 'thirsty', deviceId: 'phone', topic: 'coffee', range: 3, duration: 86400, selector: 'price < 5', matchTTL: 0});
  await daemon.ask('place/import', {places: {type: 'FeatureCollection', features: [feature({id: 'kiosk', name: 'Kiosk <b>&amp;</b>', categoryIds: ['shop']}, {type: 'Point', coordinates: [at(40, 20).longitude, at(40, 20).latitude]})]}});
}
