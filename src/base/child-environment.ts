/** The variables with Squall's own secrets. */
const SECRETS = /^SQUALL_.*TOKEN$/

/** Returns the environment for a program that is not Squall: without Squall's own secrets. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !SECRETS.test(name))
  return Object.fromEntries(entries)
}
