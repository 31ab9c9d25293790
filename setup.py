"""The one thing that pyproject.toml cannot say: a .pth file beside the packages, for CUTILE_SIM=1."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HOOK = "cutile_sim.pth"


class BuildWithHook(build_py):
    """Puts the hook at the root of the wheel, which becomes site-packages."""

    def run(self) -> None:
        super().run()
        # An editable wheel holds no packages and ignores build_lib.
        root = self.get_finalized_command("install").install_lib if self.editable_mode else self.build_lib
        Path(root).mkdir(parents=True, exist_ok=True)
        self.copy_file(HOOK, str(Path(root, HOOK)))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib, HOOK))]

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), HOOK]


setup(cmdclass={"build_py": BuildWithHook})
