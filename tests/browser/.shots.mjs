import { launchBrowser } from './page.mjs';
const browser = await launchBrowser();
for (const [scene, w, h] of (process.argv[2] ?? 'terminal:1240:860').split(',').map((s) => s.split(':'))) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ viewport: { width: +w, height: +h }, colorScheme });
    const page = await context.newPage();
    page.on('pageerror', (e) => console.log('ERR', e.message));
    page.on('console', (m) => ['error','warning'].includes(m.type()) && console.log(m.text()));
    await page.goto(`http://127.0.0.1:5199/dev/?scene=${scene}`);
    await page.waitForTimeout(2500);
    await page.screenshot({ path: `/tmp/wire_shots/${scene}-${colorScheme}-${w}.png` });
    console.log(await page.evaluate(() => [...document.querySelectorAll('.xterm-rows, .box')].map((e) => e.clientWidth)));
    await context.close();
  }
}
await browser.close();
