// SPDX-License-Identifier: Apache-2.0
// Dark or light, as it was chosen in Cockpit, and else as the browser prefers.

const preference = matchMedia('(prefers-color-scheme: dark)');

function apply(chosen) {
    const style = chosen ?? localStorage.getItem('shell:style') ?? 'auto';
    const isDark = style === 'dark' || (style !== 'light' && preference.matches);
    // The class of Cockpit's own pages.
    document.documentElement.classList.toggle('pf-theme-dark', isDark);
}

preference.addEventListener('change', () => apply());
addEventListener('storage', ({ key }) => key === 'shell:style' && apply());
addEventListener('cockpit-style', ({ detail }) => apply(detail?.style));
apply();
