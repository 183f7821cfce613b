"""Measurements in Chinese."""

from collections.abc import Sequence

from core.records import Colour, Direction, SceneChangeKind, Side
from qa.measured_words import Ending, Rest, Route, Story

_SIDE = {Side.LEFT: "左侧", Side.RIGHT: "右侧", Side.TOP: "上方", Side.BOTTOM: "下方"}
_WAY = {Direction.LEFT: "左", Direction.RIGHT: "右", Direction.UP: "上", Direction.DOWN: "下"}
_COLOUR = {
    Colour.BLACK: "黑色",
    Colour.GREY: "灰色",
    Colour.WHITE: "白色",
    Colour.RED: "红色",
    Colour.ORANGE: "橙色",
    Colour.YELLOW: "黄色",
    Colour.GREEN: "绿色",
    Colour.BLUE: "蓝色",
    Colour.PURPLE: "紫色",
    Colour.BROWN: "棕色",
}
_CHANGE = {
    SceneChangeKind.LIGHT_ON: "灯光亮起",
    SceneChangeKind.LIGHT_OFF: "灯光熄灭",
    SceneChangeKind.CAMERA_MOVED: "摄像头被移动",
    SceneChangeKind.CAMERA_COVERED: "摄像头被遮挡",
    SceneChangeKind.CAMERA_UNCOVERED: "摄像头的遮挡被移开",
}
_NUMBERS = ("零", "一", "两", "三", "四", "五", "六", "七", "八", "九")


class ChineseWords:
    """Says it in Chinese."""

    def one(self, story: Story) -> str:
        extent = f"历时{_duration(story.duration_us)}，{_size(story.size)}"
        return f"{story.came} {_course(story, subject='有' + _thing(story.colour))}（{extent}）。"

    def several(self, start: str, end: str, stories: Sequence[Story]) -> str:
        parts = [f"{s.came} {_course(s, subject='一个' + _thing(s.colour))}" for s in stories]
        return f"{start} 至 {end} 有{_NUMBERS[len(stories)]}个物体移动：{'；'.join(parts)}。"

    def many(self, start: str, end: str, count: int, routes: Sequence[Route]) -> str:
        parts = [f"{number} 个{_route(entered, left)}" for entered, left, number in routes]
        return f"{start} 至 {end} 有 {count} 个物体移动：{'，'.join(parts)}。"

    def change(self, kind: SceneChangeKind, at: str) -> str:
        return f"{at} {_CHANGE[kind]}。"

    def gap(self, text: str) -> str:
        return f"{text}。"

    def still(self, since: str, until: str, *, ongoing: bool) -> str:
        if ongoing:
            return f"自 {since} 起没有物体移动；最近一次查看为 {until}。"
        if since == until:
            return f"{until} 没有物体移动。"
        return f"{since} 至 {until} 没有物体移动。"

    def slight(self, start: str, end: str) -> str:
        return f"{start} 至 {end} 只有轻微变化，没有可以跟踪的物体。"

    def quiet_since(self, since: str, until: str) -> str:
        return f"自 {since} 起没有物体移动；最近一次查看为 {until}。"

    def looked(self, at: str) -> str:
        return f"最近一次查看为 {at}。"

    def unseen(self, span: str) -> str:
        return f"没有 {span} 的画面。"

    def rest(self, rest: Rest, start: str, end: str) -> str:
        parts = [
            f"{rest.movements} 次移动" if rest.movements else "",
            f"{rest.changes} 次整个画面的变化" if rest.changes else "",
            f"{rest.gaps} 次无信号" if rest.gaps else "",
        ]
        return f"{start} 至 {end} 另有 {'、'.join(part for part in parts if part)}。"

    def count(self, things: int, at_once: int) -> str:
        if things == 0:
            return "没有物体移动，无从计数。"
        if things == 1:
            return "有一个物体移动。"
        return f"共有 {things} 个物体移动，同时最多 {at_once} 个。"

    def presence(self, at: str, *, there: bool) -> str:
        if there:
            return f"画面中现在有东西（{at}）。"
        return f"现在画面中没有移动过的东西（{at}）。"

    def colour(self, colour: Colour | None, at: str) -> str:
        if colour is None:
            return f"最近移动的物体没有单一颜色（{at}）。"
        return f"最近移动的物体看上去是{_COLOUR[colour]}（{at}）。"

    def way(self, story: Story) -> str:
        if story.direction is None and story.left is None:
            return f"最近移动的物体大致停留在原处（{story.went}）。"
        moved = f"向{_WAY[story.direction]}移动" if story.direction else ""
        left = f"从{_SIDE[story.left]}离开" if story.left else ""
        return f"最近移动的物体{'，'.join(part for part in (moved, left) if part)}（{story.went}）。"

    def lasted(self, story: Story) -> str:
        verb = "已停留" if story.ending is Ending.STILL_THERE else "停留了"
        if story.present:
            return f"最近移动的物体{verb}至少{_duration(story.duration_us)}（{story.went}）。"
        return f"最近移动的物体{verb}{_duration(story.duration_us)}（{story.came} 至 {story.went}）。"


def _thing(colour: Colour | None) -> str:
    return "物体" if colour is None else f"{_COLOUR[colour]}物体"


def _course(story: Story, *, subject: str) -> str:
    if story.present:
        came = f"{subject}已在画面中"
    elif story.entered is not None:
        came = f"{subject}从{_SIDE[story.entered]}进入画面"
    else:
        came = f"{subject}出现"
    parts = [came]
    if story.direction:
        parts.append(f"向{_WAY[story.direction]}移动")
    match story.ending:
        case Ending.LEFT:
            by = f"从{_SIDE[story.left]}" if story.left else ""
            parts.append(f"{story.went} {by}离开")
        case Ending.STILL_THERE:
            parts.append(f"{story.went} 仍在画面中")
        case Ending.STILL_THEN:
            parts.append(f"{story.went} 时仍在画面中")
        case Ending.LAST_SEEN:
            parts.append(f"{story.went} 最后一次看到其移动")
    return "，".join(parts)


def _duration(us: int) -> str:
    seconds = round(us / 1_000_000)
    if seconds < 1:
        return "不到 1 秒"
    if seconds < 100:
        return f" {seconds} 秒"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f" {minutes} 分 {seconds} 秒" if seconds else f" {minutes} 分钟"
    return f" {minutes // 60} 小时 {minutes % 60} 分钟"


def _size(share: float) -> str:
    return "占画面不到 1%" if share < 0.01 else f"最多占画面的 {round(share * 100)}%"


def _route(entered: Side | None, left: Side | None) -> str:
    if entered is not None and left is not None:
        return f"从{_SIDE[entered]}进入、从{_SIDE[left]}离开"
    if entered is not None:
        return f"从{_SIDE[entered]}进入"
    if left is not None:
        return f"从{_SIDE[left]}离开"
    return "在画面内移动"
