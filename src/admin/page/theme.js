// Runs before the first paint, so that a chosen theme applies at once.
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
        // The choice lasts for this visit.
      }
      document.dispatchEvent(new Event('themechange'))
    })
  })
})()
