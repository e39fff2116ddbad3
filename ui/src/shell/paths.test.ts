import { describe, expect, it } from 'vitest';
import { homeOf, shortFolder, wholeFolder } from './paths';

describe('the home folder', () => {
  it.each([
    ['/home/ada/atlas', '/home/ada'],
    ['/home/ada', '/home/ada'],
    ['/Users/ada/atlas', '/Users/ada'],
    ['/root', '/root'],
    ['/rooted/x', ''],
    ['/srv/atlas', ''],
    ['/home', ''],
    ['', ''],
  ])('of %j is %j', (path, home) => expect(homeOf(path)).toBe(home));

  it.each([
    ['/home/ada', '~'],
    ['/home/ada/atlas', '~/atlas'],
    ['/home/adam/atlas', '/home/adam/atlas'],
    ['/srv/atlas', '/srv/atlas'],
  ])('%j is written %j, and read back', (path, written) => {
    expect([shortFolder(path, '/home/ada'), wholeFolder(written, '/home/ada')]).toEqual([written, path]);
  });

  it('is written by no sign, and no sign is read, where it is not known', () => {
    expect([shortFolder('/home/ada/x', ''), wholeFolder('~/x', ''), wholeFolder('~bob/x', '/home/ada')]).toEqual([
      '/home/ada/x',
      '~/x',
      '~bob/x',
    ]);
  });
});
