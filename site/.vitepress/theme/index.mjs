import DefaultTheme from 'vitepress/theme'
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet exports nothing
import './wide.css'

export default DefaultTheme
