import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte()],
  // The page is served from the root by both hosts; relative addresses also survive a custom scheme.
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: ['safari17', 'chrome115'],
    // The preload helper would be the only inline-ish script; the content security policy forbids those.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    reportCompressedSize: true,
  },
  // Components are tested as a browser runs them.
  resolve: process.env['VITEST'] === undefined ? {} : { conditions: ['browser'] },
  server: { host: '127.0.0.1' },
  test: {
    environment: 'node',
    include: ['src/**/*.test.ts'],
  },
});
