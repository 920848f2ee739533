import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Starts a process that sends a signal to a process group when this process ends without having
 * killed it: also when this process is killed, and cannot act.
 */
export function signalWhenGone(signal: 'CONT' | 'KILL', group: number): ChildProcess {
  const script = `read -r _; kill -${signal} "$0"`
  const waiting = spawn('/bin/sh', ['-c', script, String(group)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A signal to the group of Squall does not reach it.
    detached: true,
  })
  // Without a shell, and where the pipe breaks, there is nothing else to do.
  waiting.on('error', () => undefined)
  waiting.stdin?.on('error', () => undefined)
  return waiting
}

/** The variables with Squall's own secrets. */
const SECRETS = /^SQUALL_.*TOKEN$/

/** Returns the environment for a program that is not Squall: without Squall's own secrets. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !SECRETS.test(name))
  return Object.fromEntries(entries)
}
