import type { Combined } from '../combined.ts'
import { rate, sparkline } from '../figures.ts'
import { type Line, span } from './line.ts'

const MAX_SECONDS = 120
const BESIDE = 34

/** Draws the recent rates of injected and real errors on one scale. */
export function trafficLines({ trend, rates }: Combined, width: number): readonly Line[] {
  const seconds = Math.max(10, Math.min(MAX_SECONDS, width - BESIDE))
  return [
    [
      span(' injected errors/s '),
      span(rate(rates?.injected).padStart(6), 'warn'),
      span(' '),
      span(sparkline(trend, 'injected', seconds), 'warn'),
      span(` ${seconds} s`, 'quiet'),
    ],
    [
      span('     real errors/s '),
      span(rate(rates?.real).padStart(6), 'bad'),
      span(' '),
      span(sparkline(trend, 'real', seconds), 'bad'),
      span(rates !== undefined && rates.squall > 0 ? ` +${rate(rates.squall)} own` : ''),
    ],
  ]
}
