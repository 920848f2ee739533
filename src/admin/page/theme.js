// Runs before anything is drawn, so that a chosen theme does not flash up late.
;(() => {
  const KEY = 'squall-theme'
  const root = document.documentElement

  function choose(theme) {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
    else delete root.dataset.theme
  }

  function saved() {
    try {
      return localStorage.getItem(KEY) ?? ''
    } catch {
      return ''
    }
  }

  choose(saved())
  document.addEventListener('DOMContentLoaded', () => {
    /** @type {any} */
    const select = document.getElementById('theme')
    select.value = root.dataset.theme ?? ''
    select.addEventListener('change', () => {
      choose(select.value)
      try {
        localStorage.setItem(KEY, select.value)
      } catch {
        // Chosen for this visit then.
      }
      document.dispatchEvent(new Event('themechange'))
    })
  })
})()
