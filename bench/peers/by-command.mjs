/**
 * A proxy that only its reader can start, by a command line in a variable of the environment.
 * `{port}`, `{upstreamPort}` and `{directory}` stand for what differs from run to run; no shell
 * reads it.
 * @param {string} name
 * @param {string} variable
 * @param {string} summary
 * @returns {import('./index.mjs').Peer}
 */
export function byCommand(name, variable, summary) {
  const words = () => (process.env[variable] ?? '').split(/\s+/).filter((word) => word !== '')
  return {
    name,
    summary,
    missing: () =>
      words().length > 0 ? undefined : `${variable} has no start command: see bench/README.md`,
    command: ({ port, upstreamPort, directory }) => {
      const known = { port: String(port), upstreamPort: String(upstreamPort), directory }
      const [file = '', ...args] = words().map((word) =>
        word.replaceAll(/\{(\w+)\}/g, (marker, key) => known[key] ?? marker),
      )
      return { file, args }
    },
  }
}
