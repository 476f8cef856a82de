// Text for people: everything from outside is put into the page as text, never as markup.

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const day = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
const figures = new Intl.NumberFormat('en');

/** The time of day in the reader's zone; with the date where it is not today. */
export function time(at, now = Date.now()) {
  return new Date(at).toDateString() === new Date(now).toDateString() ? clock.format(at) : day.format(at);
}

export const count = (number) => figures.format(number);

/** How long ago, roughly. */
export function age(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

export function metres(value) {
  if (value >= 10000) return `${count(Math.round(value / 1000))} km`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)} km`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} m`;
}

/** Any JSON value in a line. */
export function plain(value) {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map(plain).join(', ');
  if (typeof value === 'object') return Object.entries(value).map(([k, v]) => `${k} ${plain(v)}`).join(', ');
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Math.round(value * 1e7) / 1e7);
  return String(value);
}

/** No longer than fits; whole characters only. */
export function short(text, length = 40) {
  const characters = [...String(text)];
  return characters.length > length ? characters.slice(0, length - 1).join('') + '…' : characters.join('');
}

/** An element; `on…` are listeners, what is null is left out, children are elements or text. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A name from outside: whichever way it is written, the text around it keeps its order. */
export const name = (text, length) => el('bdi', {title: String(text)}, short(text, length));
