// The same forms as the tables have: what somebody points at reads as it does there.
;(() => {
  const NONE = '-'

  function count(value) {
    if (value === null || value === undefined) return NONE
    return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
  }

  function latency(ms) {
    if (ms === null || ms === undefined) return NONE
    if (ms < 10) return `${ms.toFixed(2)} ms`
    if (ms < 1000) return `${ms.toFixed(0)} ms`
    return `${(ms / 1000).toFixed(2)} s`
  }

  /** A round value of an axis, without the zeros that say nothing there. */
  function tick(ms) {
    return ms < 1000 ? `${+ms.toPrecision(3)} ms` : `${+(ms / 1000).toPrecision(3)} s`
  }

  /** The share of calls that were as slow: 2 is one in a hundred. */
  function rarity(value) {
    const share = 100 * (1 - 10 ** -value)
    // One nine more for each order of magnitude.
    const digits = Math.max(0, Math.ceil(value - 2 + 1e-9))
    return `${+share.toFixed(Math.min(6, Math.max(value < 2 ? 1 : 0, digits)))} %`
  }

  /** Seconds after the start. */
  function clock(seconds) {
    if (seconds < 120) return `${+seconds.toFixed(1)} s`
    const minutes = Math.floor(seconds / 60)
    const rest = String(Math.floor(seconds % 60)).padStart(2, '0')
    if (minutes < 60) return `${minutes}:${rest}`
    return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`
  }

  globalThis.squallFormat = Object.freeze({ count, latency, tick, rarity, clock })
})()
