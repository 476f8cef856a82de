// The page with a city that moves, as the README shows it.

import {spawn} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Browser} from './browser.mjs';
import {Daemon, programs, sleep} from './daemon.mjs';

const daemon = await Daemon.start(['--datasets', 'town']);
const browser = await Browser.start();
let city;
try {
  city = spawn(join(programs, 'geomatch'), [
    '--broker', `mqtt://127.0.0.1:${daemon.brokerPort}`, '--dataset', 'town', 'demo', 'city', '--walkers', '600', '--vehicles', '80', '--seed', '7',
  ], {stdio: 'inherit'});
  const page = await browser.open(`${daemon.url}?client=admin#town/17/43.7052/7.2588`, {width: 1280, height: 800});
  await page.until('geomatch.model.devices.size > 100 && geomatch.model.matches.length > 5', 90000);
  await sleep(20000);
  await page.evaluate("(() => { const device = geomatch.drawing.shown.find((d) => d.id.startsWith('taxi')); const [x, y] = [device.px, device.py]; const box = document.getElementById('map').getBoundingClientRect(); return [box.left + x, box.top + y]; })()").then(([x, y]) => page.click(x, y));
  await sleep(1500);
  writeFileSync(process.argv[2], await page.screenshot());
} finally {
  city?.kill('SIGKILL');
  await browser.close();
  await daemon.end();
}
