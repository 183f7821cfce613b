"""Takes the README's picture of the page anew: ``python -m tests.support.readme_picture``."""

import asyncio

from tests.support.browser import README_PICTURE, picture_for_readme
from tests.support.service import LivelensProcess

CLIP_S = 40.0


async def main() -> None:
    """Run the demo until it has shown its clip once, ask, and save the picture."""
    async with LivelensProcess(["demo"]) as service:
        await asyncio.sleep(CLIP_S)
        await picture_for_readme(service.url, "What happened in the last 30 seconds?")
    print(f"saved {README_PICTURE}")


if __name__ == "__main__":
    asyncio.run(main())
