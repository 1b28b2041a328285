"use strict";
// Sorting, filtering and choosing for the report's tables; draws charts and fills in thumbnails when they come into view.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Charts. Python gives data and layout; colours of text and grid are the page's.
  const NARROW = 600;
  const drawn = new Set();
  let leftOut = new Set(); // labels of filters that the reader filters out

  function themed({ data, layout }, narrow) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const result = {
      margin: { l: 50, r: 10, t: 30, b: 40 }, ...layout,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 },
    };
    for (const name of ["xaxis", "yaxis"]) {
      result[name] = { ...layout[name], gridcolor: colour("--line"), zerolinecolor: colour("--line"), fixedrange: narrow };
    }
    if (narrow) { // neither labels of points nor a legend beside the plot have room
      result.legend = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", traceorder: "normal" };
      result.height = layout.height + 20 * data.filter((trace) => trace.showlegend !== false).length;
    }
    return result;
  }

  function loadPlotly() { // not with the page: it takes half a second
    const script = document.createElement("script");
    script.textContent = byId("plotly").textContent;
    document.head.append(script);
  }

  function draw(slot) {
    if (!window.Plotly) loadPlotly();
    const chosen = slot.closest("figure").querySelector(".variant");
    const variant = JSON.parse(byId(slot.dataset.chart).textContent)[chosen ? chosen.value : 0];
    variant.data = variant.data.filter((trace) => !leftOut.has(trace.meta));
    const narrow = slot.clientWidth < NARROW;
    if (narrow) variant.data = variant.data.map((trace) => (trace.text ? { ...trace, mode: "markers", showlegend: true } : trace));
    const layout = themed(variant, narrow);
    Plotly.react(slot, variant.data, layout, { responsive: true, displaylogo: false, modeBarButtons: [["toImage"]] });
    drawn.add(slot);
  }

  // Thumbnails.
  let images = null;

  function fill(box) {
    images ??= JSON.parse(byId("images").textContent);
    for (const image of all("img[data-image]", box)) {
      image.src = "data:image/jpeg;base64," + images[image.dataset.image];
    }
  }

  const show = (element) => (element.dataset.chart ? draw(element) : fill(element));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        seen.unobserve(target);
        show(target);
      }
    }
  }, { rootMargin: "300px" });
  all(".chart, .pictures").forEach((element) => seen.observe(element));
  all(".variant").forEach((select) => select.addEventListener("change", () => draw(select.closest("figure").querySelector(".chart"))));
  const drawAnew = () => drawn.forEach((slot) => seen.observe(slot)); // when next in view
  dark.addEventListener("change", drawAnew);
  addEventListener("beforeprint", () => all(".chart").filter((slot) => slot.clientWidth && !drawn.has(slot)).forEach(draw));

  // Tables: a click on a column sorts by it, the largest numbers first, and a second click turns the order round.
  function sortKey(row, column) {
    const cell = row.cells[column];
    const value = Number.parseFloat(cell.dataset.sort ?? cell.textContent.replaceAll(",", ""));
    return column === 0 || Number.isNaN(value) ? cell.textContent.trim() : value;
  }

  function sort(header) {
    const table = header.closest("table");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const keys = new Map(rows.map((row) => [row, sortKey(row, header.cellIndex)]));
    const numeric = rows.some((row) => typeof keys.get(row) === "number");
    const before = header.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : numeric;
    rows.sort((one, other) => {
      const [a, b] = [one, other].map((row) => keys.get(row));
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // missing values stay last
      return (descending ? -1 : 1) * (typeof a === "number" ? a - b : a.localeCompare(b));
    });
    all("th[aria-sort]", table.tHead).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows);
  }

  for (const header of all(".sortable thead th")) {
    const button = document.createElement("button");
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(header));
    header.append(button);
  }

  // Choices.
  const form = byId("controls");
  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const [board, metrics, family, find] = ["choose-board", "choose-metrics", "choose-family", "find"].map(byId);

  function choose() {
    for (const article of all(".board")) {
      article.hidden = article.id !== board.value;
      const tables = all(".metrics", article);
      const chosen = tables.find((table) => table.dataset.metrics === metrics.value) ?? tables[0];
      tables.forEach((table) => { table.hidden = table !== chosen; });
    }
  }

  function filter() {
    const wanted = find.value.trim().toLowerCase();
    for (const element of all("[data-label]")) {
      const named = element.dataset.label.toLowerCase().includes(wanted);
      element.hidden = !named || Boolean(family.value && element.dataset.family !== family.value);
    }
    leftOut = new Set(all("[data-label][hidden]").map((element) => element.dataset.label));
    drawAnew();
  }

  board.addEventListener("change", choose);
  metrics.addEventListener("change", choose);
  family.addEventListener("change", filter);
  find.addEventListener("input", filter);
  choose(); // a browser keeps choices when a page is loaded again
  filter();
})();
