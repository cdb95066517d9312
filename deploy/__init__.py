"""What an installation applies (manifests), and `local`, a real Karmada on one machine."""
