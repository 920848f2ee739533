import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the young generation as small as it begins, and the old one near what is in use. Reviews are
 * few and short: what it saves in memory, tens of megabytes, it costs in microseconds.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}
