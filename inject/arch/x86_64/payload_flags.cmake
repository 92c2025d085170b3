# What keeps the compiler from registers that no entry saves, and from marks for indirect branches that nobody asks for here.
set(HS_ARCH_PAYLOAD_FLAGS -mgeneral-regs-only -fcf-protection=none)
