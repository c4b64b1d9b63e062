"use strict";
// Draws the plots in the colours of the page's theme, and opens single edits.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const plots = read("plots");
  const strips = read("strips");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const dialog = document.getElementById("edit");
  const root = document.documentElement;
  let drawn = []; // [holder, spec, vega view]

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  const config = () => ({
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: "transparent" },
    title: { fontSize: 0 },
    axis: {
      labelColor: colour("text"), titleColor: colour("quiet"), gridColor: colour("line"), tickColor: colour("line"),
      domainColor: colour("line"), labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridOpacity: 0.6,
    },
    axisY: { grid: false },
    legend: { labelColor: colour("text"), labelFontSize: 12, titleColor: colour("quiet") },
    rule: { color: colour("quiet") },
    text: { color: colour("quiet") },
    range: { category: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => colour(`series-${n}`)) },
  });

  const draw = async (holder, spec) => {
    try {
      // ast: expressions are interpreted, so the page's policy need not allow code made at run time.
      const { view } = await vegaEmbed(holder, spec, {
        mode: "vega-lite", renderer: "svg", actions: false, ast: true, config: config(),
        tooltip: { theme: dark.matches ? "dark" : "light" },
      });
      view.addEventListener("click", (event, item) => {
        if (item && item.datum && item.datum.edit) open(item.datum.edit);
      });
      drawn.push([holder, spec, view]);
    } catch (error) {
      holder.textContent = "This plot could not be drawn; its text and the tables say the same.";
      console.error(error);
    }
  };

  const drawAll = async () => {
    for (const holder of document.querySelectorAll("[data-plot]")) await draw(holder, plots[holder.dataset.plot]);
    root.dataset.drawn = dark.matches ? "dark" : "light";
  };

  const open = async (key) => {
    const template = document.getElementById(key);
    const body = document.getElementById("edit-body");
    document.getElementById("edit-title").textContent = template.dataset.title;
    body.replaceChildren(template.content.cloneNode(true));
    dialog.dataset.edit = key;
    delete dialog.dataset.drawn;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    const holder = body.querySelector("[data-strip]");
    if (holder) await draw(holder, strips[key]);
    dialog.dataset.drawn = "true";
  };

  dialog.addEventListener("close", () => {
    const inside = drawn.filter(([holder]) => dialog.contains(holder));
    inside.forEach(([, , view]) => view.finalize());
    drawn = drawn.filter((one) => !inside.includes(one));
    document.getElementById("edit-body").replaceChildren();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-edit]");
    if (button) open(button.dataset.edit);
  });
  const filter = document.getElementById("filter");
  if (filter) {
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const item of document.querySelectorAll(".edits li")) {
        item.hidden = !item.textContent.toLowerCase().includes(wanted);
      }
    });
  }
  dark.addEventListener("change", async () => {
    const again = drawn;
    drawn = [];
    again.forEach(([, , view]) => view.finalize());
    for (const [holder, spec] of again) await draw(holder, spec);
    root.dataset.drawn = dark.matches ? "dark" : "light";
  });
  drawAll();
})();
