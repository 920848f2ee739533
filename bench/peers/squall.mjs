import { existsSync } from 'node:fs'

/** @type {import('./index.mjs').Peer} */
export const squall = {
  name: 'squall',
  summary: 'this project, as built',
  missing: ({ squallMain }) =>
    existsSync(squallMain) ? undefined : `${squallMain} is not there (npm run build)`,
  command: ({ port, upstreamPort, squallMain, rulesFile }) => ({
    file: process.execPath,
    args: [
      squallMain,
      'run',
      '--listen',
      `127.0.0.1:${port}`,
      '--upstream',
      `http://127.0.0.1:${upstreamPort}`,
      '--admin',
      'off',
      ...(rulesFile === undefined ? [] : ['--rules', rulesFile]),
    ],
  }),
}
