"use strict";
// Sorting, filtering and choosing for the report's tables; draws charts and fills in thumbnails when they come into view.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Choices: which filters a reader sees.
  const [form, board, metrics, find, everyone] = ["controls", "choose-board", "choose-metrics", "find", "everyone"].map(byId);

  function isShown({ dataset }, all = everyone.checked) {
    const wanted = find.value.toLowerCase().split(",").map((text) => text.trim()).filter(Boolean);
    if (!wanted.length) return all || !("more" in dataset);
    return wanted.some((text) => `${dataset.label} ${dataset.family}`.toLowerCase().includes(text));
  }

  // Charts. Python gives data and layout; colours of text and grid are the page's.
  const NARROW = 600;
  const LINE = 14; // pixels of a line of text
  const HOVERS = matchMedia("(hover: hover)").matches; // else its buttons would always be there
  const drawn = new Set();

  function withoutHidden(slot, { data, layout }) {
    const { rows, everyone: all = everyone?.checked } = layout.meta ?? {}; // rows: labels of a chart with a row per filter
    const filters = form ? [...slot.closest(".board").querySelectorAll("tr[data-label]")] : [];
    const hidden = new Set(filters.filter((row) => !isShown(row, all)).map((row) => row.dataset.label));
    if (!rows) return { data: data.filter((trace) => !hidden.has(trace.meta)), layout };
    const places = rows.flatMap((label, index) => (hidden.has(label) ? [] : [index]));
    const cut = (value) => (Array.isArray(value) && value.length === rows.length ? places.map((index) => value[index]) : value);
    const renumbered = places.map((_, index) => index);
    const cutAll = (given) => Object.fromEntries(Object.entries(given).map(([name, value]) => [name, cut(value)]));
    const yaxis = { ...cutAll(layout.yaxis), tickvals: renumbered, range: [places.length - 0.5, -0.5] };
    return {
      data: data.map((trace) => ({ ...cutAll(trace), y: renumbered })),
      layout: { ...layout, yaxis, height: layout.height - 24 * (rows.length - places.length) },
    };
  }

  const namesOf = (data) => data.filter((trace) => trace.customdata);

  function themed({ data, layout }, width) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const names = namesOf(data).map((trace) => trace.customdata[0].length);
    const narrow = width < NARROW;
    const result = {
      margin: { l: 50, r: names.length ? Math.min(0.35 * width, 30 + 6.5 * Math.max(...names)) : 22, t: 30, b: 40 }, ...layout,
      height: Math.max(layout.height, 100 + LINE * names.length),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--faint"), activecolor: colour("--ink") },
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 },
    };
    for (const name of ["xaxis", "xaxis2", "yaxis"].filter((name) => layout[name])) {
      result[name] = { ...layout[name], gridcolor: colour("--line"), zerolinecolor: colour("--line"), fixedrange: narrow };
    }
    if (narrow) { // a legend beside the plot has no room
      result.legend = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", traceorder: "normal" };
      result.height += 20 * data.filter((trace) => trace.showlegend !== false).length;
    }
    return result;
  }

  function nameSeries(slot, data) { // where they end, each in the nearest place that no other name has
    const { xaxis, yaxis } = slot._fullLayout;
    const placed = [];
    const ends = namesOf(data).map((trace) => {
      const [x, y] = [trace.x.at(-1), trace.y.at(-1)];
      return { trace, x, y, left: xaxis.d2p(x), top: yaxis.d2p(y) };
    }).sort((one, other) => one.top - other.top);
    for (const end of ends) {
      const isFree = (top) => top >= 0 && top <= yaxis._length
        && placed.every((other) => Math.abs(other.left - end.left) > 90 || Math.abs(other.at - top) >= LINE);
      const offsets = ends.flatMap((_, index) => [index * LINE / 2, -index * LINE / 2]);
      end.at = end.top + (offsets.find((offset) => isFree(end.top + offset)) ?? 0);
      placed.push(end);
    }
    const annotations = placed.map(({ trace, x, y, top, at }) => ({
      x: xaxis.type === "log" ? Math.log10(x) : x, y, xanchor: "left", xshift: 6, yshift: top - at, showarrow: false,
      font: { size: 11 }, borderpad: 0, bgcolor: getComputedStyle(document.body).backgroundColor,
      text: `<span style="color:${trace.marker.color}">■</span> ${trace.customdata[0]}`,
    }));
    const ranges = { "xaxis.range": [...xaxis.range], "yaxis.range": [...yaxis.range] }; // else they grow with the names
    if (annotations.length) Plotly.relayout(slot, { annotations, ...ranges });
  }

  function loadPlotly() { // not with the page: it takes half a second
    const script = document.createElement("script");
    script.textContent = byId("plotly").textContent;
    document.head.append(script);
  }

  async function draw(slot) {
    if (!window.Plotly) loadPlotly();
    const chosen = slot.closest("figure").querySelector(".variant");
    const picture = JSON.parse(byId(slot.dataset.chart).textContent)[chosen ? chosen.value : 0];
    const note = slot.parentElement.querySelector(".chart-note");
    if (note) note.textContent = picture.note;
    const variant = withoutHidden(slot, picture);
    const layout = themed(variant, slot.clientWidth);
    slot.style.minHeight = `${layout.height}px`;
    drawn.add(slot);
    await Plotly.react(slot, variant.data, layout, { responsive: true, displaylogo: false, displayModeBar: HOVERS && "hover", modeBarButtons: [["toImage"]] });
    nameSeries(slot, variant.data);
  }

  // Thumbnails.
  let images = null;

  function fill(box) {
    images ??= JSON.parse(byId("images").textContent);
    for (const image of all("img[data-image]", box)) {
      image.src = "data:image/jpeg;base64," + images[image.dataset.image];
    }
  }

  const dialog = byId("enlarged");
  for (const button of all("button.picture")) {
    button.addEventListener("click", () => {
      dialog.querySelector("img").src = button.querySelector("img").src;
      dialog.querySelector("p").textContent = button.closest("li, .card").querySelector(".caption").textContent;
      dialog.showModal();
    });
  }
  dialog?.addEventListener("click", () => dialog.close());

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

  // Tables that go on to the right say so.
  const measure = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => measure(target)));
  for (const box of all(".scroll")) {
    resized.observe(box);
    box.addEventListener("scroll", () => measure(box), { passive: true });
  }

  if (!form) return;
  form.hidden = false;
  everyone.parentElement.hidden = !document.querySelector("[data-more]");
  form.addEventListener("submit", (event) => event.preventDefault());

  function choose() {
    for (const article of all(".board")) {
      article.hidden = article.id !== board.value;
      const tables = all(".metrics", article);
      const chosen = tables.find((table) => table.dataset.metrics === metrics.value) ?? tables[0];
      tables.forEach((table) => { table.hidden = table !== chosen; });
    }
  }

  function filter() {
    for (const element of all("[data-label]")) element.hidden = !isShown(element);
    for (const note of all(".cut")) note.hidden = everyone.checked || find.value.trim() !== "";
    drawAnew();
  }

  board.addEventListener("change", choose);
  metrics.addEventListener("change", choose);
  find.addEventListener("input", filter);
  everyone.addEventListener("change", filter);
  choose(); // a browser keeps choices when a page is loaded again
  filter();
})();
