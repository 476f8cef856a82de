// The page over a long time, and with more than it can show. Programs of a release build: GEOMATCH_TEST_PROGRAMS.

import test from 'node:test';
import assert from 'node:assert/strict';
import {Browser} from './support/browser.mjs';
import {Daemon, sleep} from './support/daemon.mjs';
import {build, at} from './support/house.mjs';

const skip = !process.env.GEOMATCH_TEST_ALL;

async function begin(t, hash, search = '?client=me') {
  const [daemon, browser] = [await Daemon.start(['--datasets', 'demo']), await Browser.start()];
  t.after(async () => { await browser.close(); await daemon.end(); });
  return {daemon, open: () => browser.open(`${daemon.url}${search}${hash}`)};
}

/** Bytes of scripts that are in use. */
async function heap(page) {
  for (let i = 0; i < 3; i++) await page.send('HeapProfiler.collectGarbage');
  return (await page.send('Runtime.getHeapUsage')).usedSize;
}

test('a page does not grow with what comes and goes', {timeout: 300000, skip}, async (t) => {
  const {daemon, open} = await begin(t, '#demo');
  await build(daemon);
  await daemon.publish({'-/-/-/-/phone/position': at(25, 25)});
  const page = await open();
  await page.until("document.getElementById('status').className === 'online' && geomatch.model.generation > 0", 15000);
  const sizes = [];
  // Each round has devices that never come again, a match, and what is refused: as many as a wall sees in hours.
  for (let round = 0; round < 120; round++) {
    const devices = Array.from({length: 200}, (_, i) => `r${round}-${i}`);
    const positions = Object.fromEntries(devices.map((id, i) => [`-/-/-/-/${id}/position`, {...at(i % 40, i / 5), horizontalAccuracy: 3}]));
    await daemon.publish({...positions, '-/-/-/-/phone/position': at(8, 5 + round % 2), 'v/h/0/a/-/occupancy': {nrOfPeople: round % 5}});
    await daemon.publish({[`-/-/-/-/bad${round}/position`]: {latitude: 430, longitude: 7}}).catch(() => {});
    if (round % 10 === 0) await page.until(`geomatch.model.devices.has('r${round}-199')`);
    await daemon.publish({...Object.fromEntries(devices.map((id) => [`-/-/-/-/${id}/position`, null])), '-/-/-/-/phone/position': at(25, 25)});
    if (round % 20 === 19) {
      await page.until(`!geomatch.model.devices.has('r${round}-199')`);
      sizes.push(await heap(page));
    }
  }
  t.diagnostic(`heap ${sizes.map((size) => (size / 2 ** 20).toFixed(1)).join(', ')} MiB`);
  assert.ok(await page.evaluate('geomatch.model.matches.length > 50 && geomatch.model.devices.size < 5'));
  // The lists are full by the half of it.
  assert.ok(sizes.at(-1) < sizes[2] * 1.1 + 500e3, `${sizes}`);
});

test('with more devices than it can show the page says what it shows', {timeout: 600000, skip}, async (t) => {
  const crowd = Number(process.env.GEOMATCH_TEST_CROWD ?? 40000);
  const {daemon, open} = await begin(t, '#demo/12/43.73/7.42');
  for (let first = 0; first < crowd; first += 5000) {
    const updates = {};
    for (let n = first; n < Math.min(crowd, first + 5000); n++) {
      updates[`-/-/-/-/m${n}/position`] = {latitude: 43.73 + (n % 300) * 1e-5, longitude: 7.42 + Math.floor(n / 300) * 1e-5};
    }
    await daemon.publish(updates);
  }
  const page = await open();
  await page.until("/a sample of [0-9,]+, of [0-9,]+ in view: zoom in for all/.test(document.getElementById('status').innerText)", 120000);
  const text = await page.text('#status');
  t.diagnostic(text);
  assert.ok(text.includes(`of ${crowd.toLocaleString('en')} in view`), text);
  assert.ok(await heap(page) < 200e6);
  await page.evaluate(`location.hash = '#demo/21/43.73/7.42'`);
  await page.until("geomatch.model.devices.size > 0 && document.getElementById('status').innerText.startsWith('Online: ') && !document.getElementById('status').innerText.includes('sample')", 60000);
  await sleep(100);
});
