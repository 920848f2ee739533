import type { Panel } from '../../dashboards/shipped.ts'

/**
 * The colour of each series of a panel, whose queries have these names; nothing where thresholds
 * say it.
 */
export function coloursOf(
  panel: Panel,
  refIds: readonly string[],
): readonly (string | undefined)[] {
  return refIds.map((refId, index) => {
    const colour = panel.fieldConfig?.overrides
      .find(({ matcher }) => matcher.id === 'byFrameRefID' && matcher.options === refId)
      ?.properties.find(({ id }) => id === 'color')?.value as
      { readonly mode: string; readonly fixedColor: string } | undefined
    if (colour === undefined) return undefined
    return colour.mode === 'shades' ? shade(colour.fixedColor, index) : colour.fixedColor
  })
}

/**
 * Darker and lighter by turns, always more so, as Grafana does; it counts all series of the panel.
 */
function shade(colour: string, index: number): string {
  const nth = index % 13
  if (nth === 0) return colour
  const other = nth % 2 === 1 ? 0 : 255
  const part = Math.ceil(nth / 2) / 10
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  const mixed = parts.map((own) => Math.round(own * (1 - part) + other * part))
  return `#${mixed.map((own) => own.toString(16).padStart(2, '0')).join('')}`
}
